// AMD's management libraries: AMD SMI, and ROCm SMI, which it replaces. Both are opened at run
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/device.h"
#include "device/device_health.h"

namespace duet::hip {

// The xGMI links between two GPUs, as the driver knows them.
struct XgmiLinks {
  int count = 0;
  double gb_per_s = 0;  // of all together, in one direction
};

// Devices are named by PCI addresses such as "0000:c1:00.0"; nullopt where the library does not
// know the GPU. Thread-safe.
class Smi {
 public:
  virtual ~Smi() = default;
  virtual std::optional<Telemetry> telemetry(const std::string& bus) const = 0;
  virtual std::optional<double> joules(const std::string& bus) const = 0;  // the energy counter
  virtual std::optional<DeviceHealth> health(const std::string& bus) const = 0;
  virtual std::optional<XgmiLinks> links(const std::string& from, const std::string& to) const = 0;
  virtual std::string driver_version() const = 0;  // "" if unknown
};

// AMD SMI, or ROCm SMI where AMD SMI cannot be used; nullptr where neither can. Neither is ever
// shut down, because telemetry may be read until the process ends.
std::unique_ptr<Smi> open_smi();

// What open_smi() opened, once per process.
const Smi* smi();

}  // namespace duet::hip
