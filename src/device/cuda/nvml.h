// NVML, NVIDIA's management library, opened at run time. Only the functions that Duet uses are
// declared, after NVIDIA's NVML API Reference, because the CUDA toolkit need not contain NVML's
// header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/device_health.h"

namespace duet::cuda {

// The other end of an NVLink.
struct NvLinkEnd {
  bool is_gpu = false;                  // else a switch, or unknown
  int domain = 0, bus = 0, device = 0;  // PCI address of the other end
};

class Nvml {
 public:
  // The library, opened once per process; nullptr where it cannot be opened.
  static const Nvml* instance();

  std::optional<Telemetry> telemetry(const std::string& bus) const;
  std::optional<double> joules(const std::string& bus) const;  // the energy counter alone
  std::optional<DeviceHealth> health(const std::string& bus) const;
  // The XIDs of a device since the last call; the first call begins to listen.
  std::vector<std::uint64_t> new_xids(const std::string& bus) const;
  std::vector<NvLinkEnd> active_links(const std::string& bus) const;
  std::string driver_version() const;  // "" if unknown

  Nvml();  // throws Unavailable

 private:
  using Handle = struct nvmlDevice_st*;
  using Result = int;  // nvmlReturn_t; 0 is NVML_SUCCESS

  // nvmlPciInfo_t
  struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
  };
  static_assert(sizeof(PciInfo) == 68);

  using EventSet = struct nvmlEventSet_st*;

  // nvmlEventData_t
  struct EventData {
    Handle device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
  };
  static_assert(sizeof(EventData) == 32);

  void add_links(Handle device, DeviceHealth& health) const;
  void add_counters(Handle device, DeviceHealth& health) const;
  std::optional<std::uint64_t> of_all_links(Handle device, int counter) const;
  EventSet events_of(const std::string& bus) const;
  EventSet listen(Handle device) const;
  std::optional<Handle> handle_of(const std::string& bus) const;

  Result (*init_)() = nullptr;
  Result (*driver_version_)(char*, unsigned) = nullptr;
  Result (*handle_by_bus_)(const char*, Handle*) = nullptr;
  Result (*power_)(Handle, unsigned*) = nullptr;             // mW
  Result (*power_limit_)(Handle, unsigned*) = nullptr;       // mW, the one in force
  Result (*clock_)(Handle, int, unsigned*) = nullptr;        // MHz
  Result (*temperature_)(Handle, int, unsigned*) = nullptr;  // degrees Celsius
  Result (*energy_)(Handle, unsigned long long*) = nullptr;  // mJ since the driver was loaded
  Result (*clock_reasons_)(Handle, unsigned long long*) = nullptr;  // bits
  Result (*ecc_mode_)(Handle, int* current, int* pending) = nullptr;
  Result (*ecc_errors_)(Handle, int kind, int counter, unsigned long long*) = nullptr;
  // Rows corrected, rows with uncorrectable errors, whether some wait for a reset, and failures.
  Result (*remapped_rows_)(Handle, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Result (*pcie_replays_)(Handle, unsigned*) = nullptr;
  Result (*link_errors_)(Handle, unsigned link, int counter, unsigned long long*) = nullptr;
  Result (*make_events_)(EventSet*) = nullptr;
  Result (*register_events_)(Handle, unsigned long long types, EventSet) = nullptr;
  Result (*next_event_)(EventSet, EventData*, unsigned milliseconds) = nullptr;
  Result (*free_events_)(EventSet) = nullptr;
  Result (*link_state_)(Handle, unsigned, int*) = nullptr;
  Result (*link_end_)(Handle, unsigned, PciInfo*) = nullptr;
  Result (*link_end_kind_)(Handle, unsigned, int*) = nullptr;
};

}  // namespace duet::cuda
