// What Duet declares of rocBLAS, hipBLASLt, RCCL and ROCm SMI, compared with AMD's headers by
// scripts/check_hip.sh.
#include <hipblaslt/hipblaslt.h>
#include <rccl/rccl.h>
#include <rocblas/rocblas.h>
#include <rocm_smi/rocm_smi.h>

#include "collectives/nccl/library.h"
#include "device/hip/smi_calls.h"
#include "fake_gpu/same_call.h"
#include "gemm/hipblaslt/library.h"
#include "gemm/rocblas/library.h"

using fake_gpu::same_call;
#define SAME_CALL(ours, theirs) static_assert(same_call<decltype(Library::ours), decltype(theirs)>)

namespace duet::rocblas {
static_assert(kSuccess == rocblas_status_success &&
              kNotImplemented == rocblas_status_not_implemented &&
              kMemoryError == rocblas_status_memory_error &&
              kArchMismatch == rocblas_status_arch_mismatch);
static_assert(kNone == rocblas_operation_none && kTranspose == rocblas_operation_transpose);
static_assert(kFp16 == rocblas_datatype_f16_r && kFp32 == rocblas_datatype_f32_r &&
              kInt8 == rocblas_datatype_i8_r && kInt32 == rocblas_datatype_i32_r &&
              kBf16 == rocblas_datatype_bf16_r);
static_assert(kStandardAlgorithm == rocblas_gemm_algo_standard);
SAME_CALL(create_handle, rocblas_create_handle);
SAME_CALL(destroy_handle, rocblas_destroy_handle);
SAME_CALL(set_stream, rocblas_set_stream);
SAME_CALL(set_workspace, rocblas_set_workspace);
SAME_CALL(status_text, rocblas_status_to_string);
SAME_CALL(gemm_ex, rocblas_gemm_ex);
}  // namespace duet::rocblas

namespace duet::hipblaslt {
static_assert(kSuccess == HIPBLAS_STATUS_SUCCESS && kAllocFailed == HIPBLAS_STATUS_ALLOC_FAILED &&
              kInvalidValue == HIPBLAS_STATUS_INVALID_VALUE &&
              kNotSupported == HIPBLAS_STATUS_NOT_SUPPORTED &&
              kArchMismatch == HIPBLAS_STATUS_ARCH_MISMATCH);
static_assert(kFp32 == HIP_R_32F && kFp16 == HIP_R_16F && kInt8 == HIP_R_8I &&
              kInt32 == HIP_R_32I && kBf16 == HIP_R_16BF && kE4m3 == HIP_R_8F_E4M3 &&
              kE5m2 == HIP_R_8F_E5M2 && kE4m3Fnuz == HIP_R_8F_E4M3_FNUZ &&
              kE5m2Fnuz == HIP_R_8F_E5M2_FNUZ);
static_assert(kInFp32 == HIPBLAS_COMPUTE_32F && kInTf32 == HIPBLAS_COMPUTE_32F_FAST_TF32 &&
              kInInt32 == HIPBLAS_COMPUTE_32I);
static_assert(kNone == HIPBLAS_OP_N && kTranspose == HIPBLAS_OP_T);
static_assert(kGeluAux == HIPBLASLT_EPILOGUE_GELU_AUX && kDgelu == HIPBLASLT_EPILOGUE_DGELU);
static_assert(kTransA == HIPBLASLT_MATMUL_DESC_TRANSA && kTransB == HIPBLASLT_MATMUL_DESC_TRANSB &&
              kEpilogue == HIPBLASLT_MATMUL_DESC_EPILOGUE &&
              kScaleA == HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER &&
              kScaleB == HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER &&
              kEpilogueAux == HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER &&
              kEpilogueAuxLd == HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
static_assert(kMaxWorkspace == HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(sizeof(Algorithm) == sizeof(hipblasLtMatmulAlgo_t));
static_assert(sizeof(HeuristicResult) == sizeof(hipblasLtMatmulHeuristicResult_t) &&
              offsetof(HeuristicResult, workspaceSize) ==
                  offsetof(hipblasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(HeuristicResult, state) ==
                  offsetof(hipblasLtMatmulHeuristicResult_t, state));
SAME_CALL(get_version, hipblasLtGetVersion);
SAME_CALL(create, hipblasLtCreate);
SAME_CALL(destroy, hipblasLtDestroy);
SAME_CALL(layout_create, hipblasLtMatrixLayoutCreate);
SAME_CALL(layout_destroy, hipblasLtMatrixLayoutDestroy);
SAME_CALL(desc_create, hipblasLtMatmulDescCreate);
SAME_CALL(desc_destroy, hipblasLtMatmulDescDestroy);
SAME_CALL(desc_set, hipblasLtMatmulDescSetAttribute);
SAME_CALL(preference_create, hipblasLtMatmulPreferenceCreate);
SAME_CALL(preference_destroy, hipblasLtMatmulPreferenceDestroy);
SAME_CALL(preference_set, hipblasLtMatmulPreferenceSetAttribute);
SAME_CALL(heuristic, hipblasLtMatmulAlgoGetHeuristic);
SAME_CALL(matmul, hipblasLtMatmul);
}  // namespace duet::hipblaslt

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
namespace duet::nccl {
static_assert(kSuccess == ncclSuccess && kUnhandledDeviceError == ncclUnhandledCudaError &&
              kSystemError == ncclSystemError && kInvalidArgument == ncclInvalidArgument &&
              kInvalidUsage == ncclInvalidUsage && kRemoteError == ncclRemoteError &&
              kInProgress == ncclInProgress);
static_assert(kUint8 == ncclUint8 && kInt32 == ncclInt32 && kFloat16 == ncclFloat16 &&
              kFloat32 == ncclFloat32 && kBfloat16 == ncclBfloat16);
static_assert(kSum == ncclSum && kMax == ncclMax && kMin == ncclMin && kAvg == ncclAvg);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
SAME_CALL(get_version, ncclGetVersion);
SAME_CALL(get_unique_id, ncclGetUniqueId);
SAME_CALL(error_string, ncclGetErrorString);
SAME_CALL(last_error, ncclGetLastError);
SAME_CALL(comm_init, ncclCommInitRank);
SAME_CALL(comm_destroy, ncclCommDestroy);
SAME_CALL(comm_abort, ncclCommAbort);
SAME_CALL(comm_async_error, ncclCommGetAsyncError);
SAME_CALL(group_start, ncclGroupStart);
SAME_CALL(group_end, ncclGroupEnd);
SAME_CALL(send, ncclSend);
SAME_CALL(recv, ncclRecv);
SAME_CALL(all_gather, ncclAllGather);
SAME_CALL(reduce_scatter, ncclReduceScatter);
SAME_CALL(all_reduce, ncclAllReduce);
SAME_CALL(broadcast, ncclBroadcast);
SAME_CALL(all_to_all, ncclAllToAll);
SAME_CALL(gather, ncclGather);
SAME_CALL(scatter, ncclScatter);
static_assert(kUndefined == NCCL_CONFIG_UNDEF_INT && kNoColor == NCCL_SPLIT_NOCOLOR);
static_assert(offsetof(Config, max_ctas) == offsetof(ncclConfig_t, maxCTAs) &&
              offsetof(Config, split_share) == offsetof(ncclConfig_t, splitShare));
SAME_CALL(comm_init_config, ncclCommInitRankConfig);
SAME_CALL(mem_alloc, ncclMemAlloc);
SAME_CALL(mem_free, ncclMemFree);
static_assert(kWindowSymmetric == NCCL_WIN_COLL_SYMMETRIC && kShrinkAbort == NCCL_SHRINK_ABORT);
SAME_CALL(window_register, ncclCommWindowRegister);
SAME_CALL(window_deregister, ncclCommWindowDeregister);
}  // namespace duet::nccl
#endif

namespace duet::hip {
static_assert(RSMI_STATUS_SUCCESS == 0 && RSMI_CLK_TYPE_SYS == 0 && RSMI_CLK_TYPE_MEM == 4 &&
              RSMI_TEMP_TYPE_JUNCTION == 1 && RSMI_TEMP_CURRENT == 0 && RSMI_SW_COMP_DRIVER == 0);
static_assert(RSMI_GPU_BLOCK_UMC == kSmiMemoryController &&
              RSMI_MEM_PAGE_STATUS_PENDING == kSmiPagePending &&
              RSMI_MEM_PAGE_STATUS_UNRESERVABLE == kSmiPageUnreservable);
static_assert(sizeof(rsmi_frequencies_t) == 280 && offsetof(rsmi_frequencies_t, current) == 8 &&
              offsetof(rsmi_frequencies_t, frequency) == 16);
static_assert(sizeof(rsmi_error_count_t) <= sizeof(SmiErrors) &&
              offsetof(rsmi_error_count_t, uncorrectable_err) ==
                  offsetof(SmiErrors, uncorrectable));
static_assert(sizeof(rsmi_retired_page_record_t) == sizeof(SmiRetiredPage) &&
              offsetof(rsmi_retired_page_record_t, status) == offsetof(SmiRetiredPage, status));
using Index = std::uint32_t;
using Words = std::uint64_t*;
static_assert(same_call<int(std::uint64_t), decltype(rsmi_init)>);
static_assert(same_call<int(Index*), decltype(rsmi_num_monitor_devices)>);
static_assert(same_call<int(Index, Words), decltype(rsmi_dev_pci_id_get)>);
static_assert(same_call<int(int, char*, std::uint32_t), decltype(rsmi_version_str_get)>);
static_assert(same_call<int(Index, Words, int*), decltype(rsmi_dev_power_get)>);
static_assert(same_call<int(Index, std::uint32_t, Words), decltype(rsmi_dev_power_cap_get)>);
static_assert(same_call<int(Index, int, void*), decltype(rsmi_dev_gpu_clk_freq_get)>);
static_assert(
    same_call<int(Index, std::uint32_t, int, std::int64_t*), decltype(rsmi_dev_temp_metric_get)>);
static_assert(same_call<int(Index, Words, float*, Words), decltype(rsmi_dev_energy_count_get)>);
static_assert(same_call<int(Index, Words), decltype(rsmi_dev_ecc_enabled_get)>);
static_assert(same_call<int(Index, std::uint64_t, void*), decltype(rsmi_dev_ecc_count_get)>);
static_assert(
    same_call<int(Index, std::uint32_t*, void*), decltype(rsmi_dev_memory_reserved_pages_get)>);
static_assert(same_call<int(Index, Index, Words, Words), decltype(rsmi_minmax_bandwidth_get)>);
}  // namespace duet::hip
