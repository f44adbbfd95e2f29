#include "health/pcie.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace duet {
namespace {

// Virtual devices state 0 or 255 lanes.
std::optional<int> lanes_in(const std::filesystem::path& file) {
  constexpr int kMostLanes = 32;
  std::ifstream in(file);
  int lanes = 0;
  if (in >> lanes && lanes > 0 && lanes <= kMostLanes) return lanes;
  return std::nullopt;
}

}  // namespace

std::optional<PcieWidth> pcie_width(const std::string& sysfs, const std::string& bus) {
  if (bus.empty()) return std::nullopt;
  std::error_code error;
  const std::filesystem::path device =
      std::filesystem::canonical(sysfs + "/bus/pci/devices/" + bus, error);
  if (error) return std::nullopt;
  const auto lanes = lanes_in(device / "current_link_width");
  const auto most = lanes_in(device / "max_link_width");
  if (!lanes || !most) return std::nullopt;
  const auto port = lanes_in(device.parent_path() / "max_link_width");
  return PcieWidth{*lanes, std::min(*most, port.value_or(*most))};
}

}  // namespace duet
