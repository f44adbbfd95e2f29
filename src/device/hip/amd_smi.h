#pragma once

#include <mutex>

#include "device/hip/amd_smi_abi.h"
#include "device/hip/smi_calls.h"

namespace duet::hip {

class AmdSmi : public SmiCalls<amd_smi::Processor> {
 public:
  AmdSmi();  // throws Unavailable

  // Why clocks are limited is told for the time since the last call for the device, or since the
  // library was opened: the GPU counts for how long each limit was in force.
  std::optional<Telemetry> telemetry(const std::string& bus) const override;
  std::optional<DeviceHealth> health(const std::string& bus) const override;
  std::string driver_version() const override;

 private:
  using Processor = amd_smi::Processor;

  // The firmware's steps, and in how many of them each limit was in force. All ones: not known.
  struct Steps {
    std::uint64_t all, hot, power, socket, regulators, memory;
  };
  struct Sensors {
    double watts = 0;
    Steps steps;
  };

  void list_devices();
  double megahertz(Processor device, int clock) const;
  template <typename Counter>
  std::optional<Sensors> read_metrics(Processor device) const;
  std::optional<Sensors> sensors(Processor device) const;
  std::string limits_since_last(Processor device, const Steps& now) const;
  static std::string limits_between(const Steps& before, const Steps& now);

  Status (*init_)(std::uint64_t flags) = nullptr;
  Status (*lib_version_)(amd_smi::Version*) = nullptr;
  Status (*sockets_)(std::uint32_t*, amd_smi::Socket*) = nullptr;
  Status (*processors_)(amd_smi::Socket, std::uint32_t*, Processor*) = nullptr;
  Status (*pci_id_)(Processor, std::uint64_t*) = nullptr;
  Status (*driver_)(Processor, amd_smi::Driver*) = nullptr;
  Status (*metrics_)(Processor, void*) = nullptr;
  Status (*power_cap_)(Processor, std::uint32_t, amd_smi::PowerCap*) = nullptr;
  Status (*clock_)(Processor, int, amd_smi::Clock*) = nullptr;
  Status (*temperature_)(Processor, int, int, std::int64_t*) = nullptr;  // degrees C
  Status (*link_status_)(Processor, amd_smi::LinkStatus*) = nullptr;

  std::uint32_t number_ = 0;  // of the library

  mutable std::mutex mutex_;
  mutable std::map<Processor, Steps> last_;
};

}  // namespace duet::hip
