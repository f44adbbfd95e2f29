// The vendor's library for which this copy of gemm/lt is compiled, cuBLASLt or hipBLASLt, which
// have the same interface under other names; and what each brings beside names.
#pragma once

#include <string>

#include "device/gpu/device.h"
#include "gemm/lt/handle.h"
#include "gemm/problem.h"

#ifdef DUET_GPU_HIP
#include "gemm/hipblaslt/vendor.h"
#else
#include "gemm/cublas/lt_vendor.h"
#endif

namespace duet::DUET_GPU {

// A configured algorithm of the library.
struct LtAlgorithm {
  ltMatmulAlgo_t algo{};
  std::uint64_t workspace_bytes = 0;
};
bool same(const LtAlgorithm& a, const LtAlgorithm& b);

// "algorithm 66, tile 20, ...", "solution 1234, ...", with the bytes of workspace.
std::string describe(const LtAlgorithm& algorithm);

// A problem's types, and alpha and beta in the type `scale`.
struct LtTypes {
  ltDataType_t a{}, b{}, out{}, scale{};
  ltComputeType_t compute{};
  const void* alpha = nullptr;
  const void* beta = nullptr;
};
// Throws Unavailable for a type that the library does not have on this device.
LtTypes lt_types(const GpuDevice& device, const GemmProblem& problem);

// What is asked of every algorithm beside its workspace. `alignment`: bytes, of all matrices.
void prefer_always(ltMatmulPreference_t preference, int alignment);
// Lets partial sums of fp8 have fewer bits than fp32, where the library has such kernels.
void allow_fast_sums(ltMatmulDesc_t operation);

std::string lt_version(ltHandle_t handle);  // "cuBLASLt 130100"

}  // namespace duet::DUET_GPU

// Evaluates a call of the library and throws OutOfMemory, Unavailable or Error if it fails.
#define DUET_LT_CHECK(...)                                                                \
  do {                                                                                    \
    const ltStatus_t duet_lt_status = (__VA_ARGS__);                                      \
    if (duet_lt_status != ltSuccess) {                                                    \
      throwLtError(duet_lt_status, DUET_GPU_TEXT(__VA_ARGS__), DUET_GPU_PLACE(__LINE__)); \
    }                                                                                     \
  } while (false)
