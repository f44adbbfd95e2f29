#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace duet::sim {

// A platform file's figures, to be changed one by one while the rest of the text stays as it is.
// The file must have a figure a line.
class PlatformText {
 public:
  explicit PlatformText(std::string_view toml);

  struct Figure {
    std::string key;  // "device.gemm.load_slope"; of the second [[device.gemm.shape]]
                      // "device.gemm.shape.2.traffic"
    double value = 0;
    std::string comment;  // without its mark
  };
  // Numbers, in the order of the file; not words and lists.
  const std::vector<Figure>& figures() const { return figures_; }

  // Throws Error for a key that the file does not have.
  double value(const std::string& key) const;
  void set(const std::string& key, double value, const std::string& comment);

  std::string text() const;

 private:
  std::size_t index_of(const std::string& key) const;

  std::vector<std::string> lines_;
  std::vector<Figure> figures_;
  std::vector<std::size_t> line_of_;  // by figure
};

}  // namespace duet::sim
