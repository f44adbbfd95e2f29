// The part of AMD SMI's binary interface that Duet uses, declared after AMD's AMD SMI API reference
// for the versions 24.6 (ROCm 6.2) to 27. scripts/check_hip.sh compares it with AMD's header
// (tests/fake_gpu/smi/amd_smi_values.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace duet::hip::amd_smi {

// The library's number is that of its file, libamd_smi.so.NUMBER. It changes where a layout does.
constexpr std::uint32_t kOldest = 24, kNewest = 27;
constexpr std::uint32_t kWideCounters = 27;  // from this number on Metrics<std::uint64_t>

constexpr std::uint64_t kGpus = 2;           // AMDSMI_INIT_AMD_GPUS
constexpr int kClockSystem = 0;              // AMDSMI_CLK_TYPE_SYS
constexpr int kClockMemory = 4;              // AMDSMI_CLK_TYPE_MEM
constexpr int kJunction = 1;                 // AMDSMI_TEMPERATURE_TYPE_JUNCTION
constexpr int kNow = 0;                      // AMDSMI_TEMP_CURRENT
constexpr std::uint32_t kDown = 0, kUp = 1;  // AMDSMI_XGMI_LINK_*; 2: there is no link
constexpr std::uint32_t kMostLinks = 8;      // AMDSMI_MAX_NUM_XGMI_LINKS

using Processor = void*;  // amdsmi_processor_handle
using Socket = void*;     // amdsmi_socket_handle

// amdsmi_version_t. Up to 25 `number` is a year there, and a fourth number follows.
struct Version {
  std::uint32_t number, major, minor, release;
  const char* build;
};

// amdsmi_power_cap_info_t
struct PowerCap {
  std::uint64_t microwatts;
  std::uint64_t unused[7];
};

// amdsmi_clk_info_t
struct Clock {
  std::uint32_t megahertz;
  std::uint32_t unused[7];
};

// amdsmi_driver_info_t. The length of its texts differs between versions.
struct Driver {
  char version[768];
};

// amdsmi_xgmi_link_status_t, from 25 on
struct LinkStatus {
  std::uint32_t count;
  std::uint32_t status[kMostLinks];
  std::uint64_t unused[7];
};

// amdsmi_gpu_metrics_t, up to what Duet reads. A value that a GPU or a version does not have is all
// ones. `ticks` counts the firmware's steps, and the others how many of them a limit was in force.
template <typename Counter>
struct Metrics {
  char unused_1[22];
  std::uint16_t average_watts;
  char unused_2[56];
  Counter activities[2];
  char unused_3[32];
  std::uint16_t watts;
  char unused_4[294];
  Counter pcie_naks[2];
  std::uint64_t ticks, hot, power, socket, regulators, memory;
  char unused_5[8192];
};

}  // namespace duet::hip::amd_smi
