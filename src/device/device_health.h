#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace duet {

// What a device's driver tells of its condition. A value that is missing is not known.
struct DeviceHealth {
  std::optional<bool> ecc;  // whether memory errors are corrected and counted
  std::optional<std::uint64_t> uncorrected_errors;  // of memory, since the driver was loaded
  std::optional<bool> remap_pending;  // a memory row is to be replaced at the next reset
  std::optional<bool> remap_failed;   // and cannot be: no spare row is left
  std::optional<int> links_up, links_down;
  bool tells_limits = false;  // of the clocks, in Telemetry::throttle
  // Counters of what was mended without loss, since the driver was loaded or earlier.
  std::optional<std::uint64_t> corrected_errors = {};  // of memory
  std::optional<std::uint64_t> pcie_replays = {};
  // Of all NVLinks together: packets with a wrong checksum, those sent again, links trained again.
  std::optional<std::uint64_t> link_errors = {}, link_replays = {}, link_recoveries = {};
};

// Implemented beside Device by devices whose driver tells it.
class HealthSource {
 public:
  virtual ~HealthSource() = default;
  // nullopt if the driver does not know the device.
  virtual std::optional<DeviceHealth> health() = 0;
  // The numbers of the errors (XIDs) that NVIDIA's driver has reported since the last call. The
  // first call begins to listen. Empty on other devices.
  virtual std::vector<std::uint64_t> new_xids() { return {}; }
};

}  // namespace duet
