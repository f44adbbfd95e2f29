// ROCm SMI. Only the functions that Duet uses are declared, after AMD's ROCm SMI API reference, for
// ROCm 6 and 7.
#pragma once

#include "device/hip/smi_calls.h"

namespace duet::hip {

class RocmSmi : public SmiCalls<std::uint32_t> {
 public:
  RocmSmi();  // throws Unavailable

  std::optional<Telemetry> telemetry(const std::string& bus) const override;
  std::string driver_version() const override;

 private:
  using Index = std::uint32_t;

  // rsmi_frequencies_t
  struct Frequencies {
    bool has_deep_sleep;
    std::uint32_t count, current;
    std::uint64_t hertz[33];
  };
  static_assert(sizeof(Frequencies) == 280);

  void list_devices();
  double megahertz(Index device, int clock) const;

  Status (*init_)(std::uint64_t flags) = nullptr;
  Status (*device_count_)(std::uint32_t*) = nullptr;
  Status (*pci_id_)(Index, std::uint64_t*) = nullptr;
  Status (*version_)(int component, char*, std::uint32_t) = nullptr;
  Status (*power_)(Index, std::uint64_t*, int* kind) = nullptr;          // microwatts
  Status (*power_cap_)(Index, std::uint32_t, std::uint64_t*) = nullptr;  // microwatts
  Status (*clock_)(Index, int, Frequencies*) = nullptr;
  Status (*temperature_)(Index, std::uint32_t, int, std::int64_t*) = nullptr;  // 0.001 degrees C
};

}  // namespace duet::hip
