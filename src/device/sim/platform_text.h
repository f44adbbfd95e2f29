#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace duet::sim {

// The text of a platform file whose figures can be changed one by one. The rest of the text stays
// as it is. The file must have one figure per line.
class PlatformText {
 public:
  explicit PlatformText(std::string_view toml);

  struct Figure {
    // "device.gemm.load_slope"; in the second table [[device.gemm.other_tile]]:
    // "device.gemm.other_tile.2.efficiency".
    std::string key;
    double value = 0;
    std::string comment;  // of the line, without "# "
  };
  // All numbers in the order of the file. Texts and lists are left out.
  const std::vector<Figure>& figures() const { return figures_; }

  // Both throw Error for a key that the file does not have.
  double value(const std::string& key) const;
  void set(const std::string& key, double value, const std::string& comment);

  std::string text() const;

 private:
  std::size_t index_of(const std::string& key) const;

  std::vector<std::string> lines_;
  std::vector<Figure> figures_;
  std::vector<std::size_t> line_of_;  // by figure: its index in lines_
};

}  // namespace duet::sim
