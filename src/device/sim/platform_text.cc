#include "device/sim/platform_text.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "core/error.h"

namespace duet::sim {
namespace {

// The prefix of a table's keys: "device.gemm." for "[device.gemm]", "device.gemm.other_tile.2." for
// the second "[[device.gemm.other_tile]]".
std::string prefix_of(const std::string& heading, std::map<std::string, int>& counts) {
  const bool repeats = heading.compare(0, 2, "[[") == 0;
  const std::size_t begin = heading.find_first_not_of('[');
  const std::string name = heading.substr(begin, heading.find(']') - begin);
  return repeats ? fmt::format("{}.{}.", name, ++counts[name]) : name + ".";
}

}  // namespace

PlatformText::PlatformText(std::string_view toml) {
  std::istringstream text{std::string(toml)};
  std::string prefix;
  std::map<std::string, int> counts;
  for (std::string line; std::getline(text, line); lines_.push_back(line)) {
    if (!line.empty() && line[0] == '[') prefix = prefix_of(line, counts);
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos || line[0] == '#') continue;
    std::istringstream number(line.substr(equals + 3));
    Figure figure{prefix + line.substr(0, equals), 0, ""};
    if (!(number >> figure.value)) continue;
    const std::size_t mark = line.find("# ");
    if (mark != std::string::npos) figure.comment = line.substr(mark + 2);
    figures_.push_back(std::move(figure));
    line_of_.push_back(lines_.size());
  }
}

std::size_t PlatformText::index_of(const std::string& key) const {
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    if (figures_[i].key == key) return i;
  }
  throw Error("the platform has no figure " + key);
}

double PlatformText::value(const std::string& key) const { return figures_[index_of(key)].value; }

void PlatformText::set(const std::string& key, double value, const std::string& comment) {
  const std::size_t at = index_of(key);
  figures_[at].value = value;
  figures_[at].comment = comment;
  lines_[line_of_[at]] =
      fmt::format("{} = {}  # {}", key.substr(key.rfind('.') + 1), value, comment);
}

std::string PlatformText::text() const {
  std::string all;
  for (const std::string& line : lines_) all += line + "\n";
  return all;
}

}  // namespace duet::sim
