// What device/hip declares of AMD SMI, compared with AMD's header by scripts/check_hip.sh. It also
// compiles with the headers of older versions; with those of 24.6 where DUET_AMD_SMI_24_6 is
// defined.
#include <amd_smi/amdsmi.h>

#include "device/hip/amd_smi_abi.h"
#include "fake_gpu/same_call.h"

namespace abi = duet::hip::amd_smi;

#ifdef AMDSMI_LIB_VERSION_YEAR
constexpr std::uint32_t kNumber = AMDSMI_LIB_VERSION_YEAR;
static_assert(offsetof(amdsmi_version_t, year) == offsetof(abi::Version, number));
#else
constexpr std::uint32_t kNumber = AMDSMI_LIB_VERSION_MAJOR;
static_assert(offsetof(amdsmi_version_t, major) == offsetof(abi::Version, number));
#endif
static_assert(kNumber >= abi::kOldest && kNumber <= abi::kNewest);
static_assert(sizeof(amdsmi_version_t) == sizeof(abi::Version));

static_assert(AMDSMI_STATUS_SUCCESS == 0 && AMDSMI_INIT_AMD_GPUS == abi::kGpus);
static_assert(AMDSMI_CLK_TYPE_SYS == abi::kClockSystem && AMDSMI_CLK_TYPE_MEM == abi::kClockMemory);
static_assert(AMDSMI_TEMPERATURE_TYPE_JUNCTION == abi::kJunction &&
              AMDSMI_TEMP_CURRENT == abi::kNow);
static_assert(AMDSMI_GPU_BLOCK_UMC == 1 && AMDSMI_MEM_PAGE_STATUS_PENDING == 1 &&
              AMDSMI_MEM_PAGE_STATUS_UNRESERVABLE == 2);

static_assert(sizeof(amdsmi_power_cap_info_t) == sizeof(abi::PowerCap) &&
              offsetof(amdsmi_power_cap_info_t, power_cap) == 0);
static_assert(sizeof(amdsmi_clk_info_t) == sizeof(abi::Clock) &&
              offsetof(amdsmi_clk_info_t, clk) == 0);
static_assert(sizeof(amdsmi_driver_info_t) <= sizeof(abi::Driver) &&
              offsetof(amdsmi_driver_info_t, driver_version) == 0);
static_assert(sizeof(amdsmi_error_count_t) == 64 &&
              offsetof(amdsmi_error_count_t, uncorrectable_count) == 8);
static_assert(sizeof(amdsmi_retired_page_record_t) == 24 &&
              offsetof(amdsmi_retired_page_record_t, status) == 16);

// The counters are missing from 24.6 (ROCm 6.2), whose table ends where they would begin.
using Metrics = std::conditional_t<(kNumber >= abi::kWideCounters), abi::Metrics<std::uint64_t>,
                                   abi::Metrics<std::uint32_t>>;
static_assert(sizeof(amdsmi_gpu_metrics_t) <= sizeof(Metrics));
static_assert(offsetof(amdsmi_gpu_metrics_t, average_socket_power) ==
              offsetof(Metrics, average_watts));
static_assert(offsetof(amdsmi_gpu_metrics_t, current_socket_power) == offsetof(Metrics, watts));
#ifdef DUET_AMD_SMI_24_6
static_assert(sizeof(amdsmi_gpu_metrics_t) == offsetof(Metrics, ticks));
#else
#define SAME_PLACE(theirs, ours) \
  static_assert(offsetof(amdsmi_gpu_metrics_t, theirs) == offsetof(Metrics, ours))
SAME_PLACE(accumulation_counter, ticks);
SAME_PLACE(prochot_residency_acc, hot);
SAME_PLACE(ppt_residency_acc, power);
SAME_PLACE(socket_thm_residency_acc, socket);
SAME_PLACE(vr_thm_residency_acc, regulators);
SAME_PLACE(hbm_thm_residency_acc, memory);
#endif

using fake_gpu::same_call;
using Device = abi::Processor;
using Words = std::uint64_t*;
static_assert(same_call<int(std::uint64_t), decltype(amdsmi_init)>);
static_assert(same_call<int(abi::Version*), decltype(amdsmi_get_lib_version)>);
static_assert(same_call<int(std::uint32_t*, abi::Socket*), decltype(amdsmi_get_socket_handles)>);
static_assert(
    same_call<int(abi::Socket, std::uint32_t*, Device*), decltype(amdsmi_get_processor_handles)>);
static_assert(same_call<int(Device, Words), decltype(amdsmi_get_gpu_bdf_id)>);
static_assert(same_call<int(Device, abi::Driver*), decltype(amdsmi_get_gpu_driver_info)>);
static_assert(same_call<int(Device, Metrics*), decltype(amdsmi_get_gpu_metrics_info)>);
static_assert(
    same_call<int(Device, std::uint32_t, abi::PowerCap*), decltype(amdsmi_get_power_cap_info)>);
static_assert(same_call<int(Device, int, abi::Clock*), decltype(amdsmi_get_clock_info)>);
static_assert(same_call<int(Device, int, int, std::int64_t*), decltype(amdsmi_get_temp_metric)>);
static_assert(same_call<int(Device, Words, float*, Words), decltype(amdsmi_get_energy_count)>);
static_assert(same_call<int(Device, Words), decltype(amdsmi_get_gpu_ecc_enabled)>);
static_assert(same_call<int(Device, std::uint64_t, void*), decltype(amdsmi_get_gpu_ecc_count)>);
static_assert(
    same_call<int(Device, std::uint32_t*, void*), decltype(amdsmi_get_gpu_memory_reserved_pages)>);
static_assert(same_call<int(Device, Device, Words, Words),
                        decltype(amdsmi_get_minmax_bandwidth_between_processors)>);

#ifndef AMDSMI_LIB_VERSION_YEAR  // and in 25, whose header has a year too
static_assert(AMDSMI_XGMI_LINK_DOWN == abi::kDown && AMDSMI_XGMI_LINK_UP == abi::kUp);
static_assert(sizeof(amdsmi_xgmi_link_status_t) == sizeof(abi::LinkStatus) &&
              offsetof(amdsmi_xgmi_link_status_t, status) == offsetof(abi::LinkStatus, status));
static_assert(same_call<int(Device, abi::LinkStatus*), decltype(amdsmi_get_gpu_xgmi_link_status)>);
#endif
