// What device/hip/hsa.h declares of ROCr, compared with AMD's headers by scripts/check_hip.sh.
#include <hsa/amd_hsa_signal.h>
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

// Queues and their packets.
static_assert(HSA_QUEUE_TYPE_SINGLE == 1 && HSA_SIGNAL_CONDITION_EQ == 0);
static_assert(HSA_SIGNAL_CONDITION_GTE == 3);
static_assert(sizeof(hsa_queue_t) == 40 && offsetof(hsa_queue_t, base_address) == 8 &&
              offsetof(hsa_queue_t, doorbell_signal) == 16 && offsetof(hsa_queue_t, size) == 24);
static_assert(HSA_PACKET_TYPE_VENDOR_SPECIFIC == 0 && HSA_PACKET_TYPE_BARRIER_AND == 3);
static_assert(HSA_PACKET_HEADER_BARRIER == 8 && HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE == 9 &&
              HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE == 11 && HSA_FENCE_SCOPE_SYSTEM == 2);
static_assert(HSA_AMD_PACKET_TYPE_BARRIER_VALUE == 2);
static_assert(sizeof(hsa_barrier_and_packet_t) == 64 &&
              offsetof(hsa_barrier_and_packet_t, dep_signal) == 8 &&
              offsetof(hsa_barrier_and_packet_t, completion_signal) == 56);
static_assert(sizeof(hsa_amd_barrier_value_packet_t) == 64 &&
              offsetof(hsa_amd_barrier_value_packet_t, signal) == 8 &&
              offsetof(hsa_amd_barrier_value_packet_t, value) == 16 &&
              offsetof(hsa_amd_barrier_value_packet_t, mask) == 24 &&
              offsetof(hsa_amd_barrier_value_packet_t, cond) == 32 &&
              offsetof(hsa_amd_barrier_value_packet_t, completion_signal) == 56);
static_assert(AMD_SIGNAL_KIND_USER == 1 && AMD_SIGNAL_ALIGN_BYTES == 64);
static_assert(sizeof(amd_signal_t) == 64 && offsetof(amd_signal_t, value) == 8);
static_assert(takes<decltype(hsa_queue_create), hsa_agent_t, std::uint32_t, hsa_queue_type32_t,
                    void (*)(hsa_status_t, hsa_queue_t*, void*), void*, std::uint32_t,
                    std::uint32_t, hsa_queue_t**>);
static_assert(takes<decltype(hsa_queue_destroy), hsa_queue_t*>);
static_assert(std::is_same_v<decltype(hsa_queue_add_write_index_screlease),
                             std::uint64_t(const hsa_queue_t*, std::uint64_t)>);
static_assert(std::is_same_v<decltype(hsa_queue_load_read_index_scacquire),
                             std::uint64_t(const hsa_queue_t*)>);
static_assert(takes<decltype(hsa_amd_signal_async_handler), hsa_signal_t, hsa_signal_condition_t,
                    hsa_signal_value_t, bool (*)(hsa_signal_value_t, void*), void*>);
static_assert(
    std::is_same_v<decltype(hsa_signal_load_scacquire), hsa_signal_value_t(hsa_signal_t)>);
static_assert(
    std::is_same_v<decltype(hsa_signal_store_screlease), void(hsa_signal_t, hsa_signal_value_t)>);
