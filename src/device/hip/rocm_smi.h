// ROCm SMI, AMD's management library, opened at run time. Only the functions that Duet uses are
// declared, after AMD's ROCm SMI API reference, for ROCm 6 and 7.
#pragma once

#include <cstdint>
#include <map>
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

class RocmSmi {
 public:
  // The library, opened once per process; nullptr where it cannot be opened.
  static const RocmSmi* instance();

  // By PCI addresses such as "0000:c1:00.0"; nullopt where the library does not know the GPU.
  std::optional<Telemetry> telemetry(const std::string& bus) const;
  std::optional<double> joules(const std::string& bus) const;  // the energy counter alone
  std::optional<DeviceHealth> health(const std::string& bus) const;
  std::optional<XgmiLinks> links(const std::string& from, const std::string& to) const;
  std::string driver_version() const;  // "" if unknown

  RocmSmi();  // throws Unavailable

 private:
  using Index = std::uint32_t;
  using Status = int;  // rsmi_status_t; 0 is RSMI_STATUS_SUCCESS

  // rsmi_frequencies_t
  struct Frequencies {
    bool has_deep_sleep;
    std::uint32_t count, current;
    std::uint64_t hertz[33];
  };
  static_assert(sizeof(Frequencies) == 280);

  // rsmi_error_count_t
  struct Errors {
    std::uint64_t correctable, uncorrectable;
  };

  // rsmi_retired_page_record_t
  struct RetiredPage {
    std::uint64_t address, bytes;
    int status;
  };
  static_assert(sizeof(RetiredPage) == 24);

  void list_devices();
  std::optional<Index> index_of(const std::string& bus) const;
  double megahertz(Index device, int clock) const;
  double joules_of(Index device) const;  // 0: there is no counter
  void add_pages(Index device, DeviceHealth& health) const;

  Status (*init_)(std::uint64_t flags) = nullptr;
  Status (*device_count_)(std::uint32_t*) = nullptr;
  Status (*pci_id_)(Index, std::uint64_t*) = nullptr;
  Status (*version_)(int component, char*, std::uint32_t) = nullptr;
  Status (*power_)(Index, std::uint64_t*, int* kind) = nullptr;          // microwatts
  Status (*power_cap_)(Index, std::uint32_t, std::uint64_t*) = nullptr;  // microwatts
  Status (*clock_)(Index, int, Frequencies*) = nullptr;
  Status (*temperature_)(Index, std::uint32_t, int, std::int64_t*) = nullptr;  // 0.001 degrees C
  // The counter, microjoules of one of its steps, and a time.
  Status (*energy_)(Index, std::uint64_t*, float*, std::uint64_t*) = nullptr;
  Status (*ecc_blocks_)(Index, std::uint64_t*) = nullptr;  // a bit for each block that has ECC
  Status (*ecc_errors_)(Index, std::uint64_t block, Errors*) = nullptr;
  Status (*retired_pages_)(Index, std::uint32_t*, RetiredPage*) = nullptr;
  // MB/s of one link and of all.
  Status (*bandwidth_)(Index, Index, std::uint64_t*, std::uint64_t*) = nullptr;

  std::map<std::string, Index> devices_;  // by PCI address
};

}  // namespace duet::hip
