#include "health/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "verdict/device_spec.h"

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

constexpr const char* kNoHealth = "the driver does not tell";

// In the words of the devices' telemetry.
constexpr std::string_view kBadLimits[] = {"hardware slowdown", "thermal", "power brake"};

int spec_links(const std::string& model) {
  const DeviceSpec* spec = find_device_spec(model);
  return spec != nullptr && spec->link ? spec->link->count : 0;
}

std::optional<DeviceHealth> health_of(Device& device) {
  auto* source = dynamic_cast<HealthSource*>(&device);
  return source != nullptr ? source->health() : std::nullopt;
}

// The limits of the clocks while the records were measured, and now.
std::optional<std::vector<std::string>> limits_seen(Device& device,
                                                    const std::optional<DeviceHealth>& health,
                                                    const std::vector<Record>& records) {
  const std::optional<Telemetry> now = device.telemetry();
  if (!now || !health || !health->tells_limits) return std::nullopt;
  std::vector<std::string> seen{now->throttle};
  for (const Record& record : records) {
    // A record has one telemetry: that of its first device.
    if (record.id.device != device.info().name || !record.telemetry) continue;
    const std::vector<std::string>& texts = record.telemetry->throttle;
    seen.insert(seen.end(), texts.begin(), texts.end());
  }
  return seen;
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

Check ecc_check(const std::string& device, const std::optional<DeviceHealth>& health) {
  Check check{"ecc", device, Status::unknown, kNoHealth};
  if (!health || !health->ecc) return check;
  check.status = Status::failed;
  if (!*health->ecc) {
    check.text = "ECC is off";
  } else if (health->uncorrected_errors.value_or(0) > 0) {
    check.text = fmt::format("{} uncorrected memory errors", *health->uncorrected_errors);
  } else if (health->remap_failed.value_or(false)) {
    check.text = "a memory row could not be replaced";
  } else if (health->remap_pending.value_or(false)) {
    check.text = "a memory row is to be replaced at the next reset";
  } else if (health->uncorrected_errors) {
    check.status = Status::ok;
    check.text = "no uncorrected memory errors";
  } else {
    check.status = Status::unknown;
    check.text = "ECC is on, errors are not told";
  }
  return check;
}

Check links_check(const std::string& device, const std::optional<DeviceHealth>& health,
                  int spec_links, bool alone) {
  Check check{"links", device, Status::unknown, kNoHealth};
  if (!health || !health->links_up) return check;
  const int up = *health->links_up;
  const int all = std::max(up + health->links_down.value_or(0), spec_links);
  check.text = fmt::format("{} of {} links up", up, all);
  if (up == all) {
    check.status = Status::ok;
  } else if (up > 0 || (!alone && spec_links > 0)) {
    check.status = Status::failed;
  }
  return check;
}

Check pcie_check(const std::string& device, const std::optional<PcieWidth>& width) {
  if (!width) return {"pcie", device, Status::unknown, "the system does not tell"};
  return {"pcie", device, width->lanes < width->most_lanes ? Status::failed : Status::ok,
          fmt::format("PCIe x{} of x{}", width->lanes, width->most_lanes)};
}

Check clocks_check(const std::string& device, const std::optional<std::vector<std::string>>& seen) {
  if (!seen) return {"clocks", device, Status::unknown, kNoHealth};
  for (const std::string& text : *seen) {
    for (const std::string_view bad : kBadLimits) {
      if (text.find(bad) == std::string::npos) continue;
      return {"clocks", device, Status::failed, "clocks are limited: " + text};
    }
  }
  return {"clocks", device, Status::ok, "clocks are not limited by heat or the power supply"};
}

std::vector<Check> machine_checks(Machine& machine, const std::vector<Record>& records) {
  std::vector<Check> checks;
  for (int i = 0; i < machine.size(); ++i) {
    Device& device = machine.device(i);
    const DeviceInfo& info = device.info();
    const std::optional<DeviceHealth> health = health_of(device);
    checks.push_back(ecc_check(info.name, health));
    checks.push_back(links_check(info.name, health, spec_links(info.model), machine.size() == 1));
    checks.push_back(pcie_check(info.name, pcie_width("/sys", info.bus)));
    checks.push_back(clocks_check(info.name, limits_seen(device, health, records)));
  }
  return checks;
}

}  // namespace duet
