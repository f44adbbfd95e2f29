// What device/hip/hsa.h declares of ROCr, compared with AMD's headers by scripts/check_hip.sh.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

static_assert(HSA_STATUS_SUCCESS == 0);
static_assert(HSA_STATUS_ERROR_OUT_OF_RESOURCES == 0x1008);
static_assert(HSA_EXT_POINTER_TYPE_UNKNOWN == 0);
static_assert(HSA_AGENT_INFO_DEVICE == 17 && HSA_DEVICE_TYPE_GPU == 1);
static_assert(sizeof(hsa_agent_info_t) == sizeof(int) && sizeof(hsa_device_type_t) == sizeof(int));
static_assert(HSA_AMD_SDMA_ENGINE_0 == 1 && HSA_AMD_SDMA_ENGINE_15 == 0x8000);
static_assert(sizeof(hsa_status_t) == sizeof(int));
static_assert(sizeof(hsa_amd_sdma_engine_id_t) == sizeof(int));
static_assert(sizeof(hsa_agent_t) == 8 && sizeof(hsa_signal_t) == 8);
static_assert(std::is_same_v<hsa_signal_value_t, std::int64_t>);
static_assert(sizeof(hsa_amd_pointer_info_t) >= 56);
static_assert(offsetof(hsa_amd_pointer_info_t, type) == 4);
static_assert(offsetof(hsa_amd_pointer_info_t, agentOwner) == 40);

template <typename Function, typename... Parameters>
constexpr bool takes = std::is_same_v<Function, hsa_status_t(Parameters...)>;
static_assert(takes<decltype(hsa_agent_get_info), hsa_agent_t, hsa_agent_info_t, void*>);
static_assert(takes<decltype(hsa_status_string), hsa_status_t, const char**>);
static_assert(takes<decltype(hsa_amd_pointer_info), const void*, hsa_amd_pointer_info_t*,
                    void* (*)(std::size_t), std::uint32_t*, hsa_agent_t**>);
static_assert(
    takes<decltype(hsa_amd_memory_copy_engine_status), hsa_agent_t, hsa_agent_t, std::uint32_t*>);
static_assert(takes<decltype(hsa_amd_memory_async_copy_on_engine), void*, hsa_agent_t, const void*,
                    hsa_agent_t, std::size_t, std::uint32_t, const hsa_signal_t*, hsa_signal_t,
                    hsa_amd_sdma_engine_id_t, bool>);
static_assert(takes<decltype(hsa_signal_create), hsa_signal_value_t, std::uint32_t,
                    const hsa_agent_t*, hsa_signal_t*>);
static_assert(takes<decltype(hsa_signal_destroy), hsa_signal_t>);
static_assert(
    std::is_same_v<decltype(hsa_signal_load_scacquire), hsa_signal_value_t(hsa_signal_t)>);
static_assert(
    std::is_same_v<decltype(hsa_signal_store_screlease), void(hsa_signal_t, hsa_signal_value_t)>);
