#pragma once

#include <cublas_v2.h>
#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/vendor.h"
#include "gemm/lt/handle.h"

namespace duet::cuda {

// Throws OutOfMemory, Unavailable or Error, by the status.
[[noreturn]] inline void throw_cublas_error(cublasStatus_t status, const char* call,
                                            const char* place) {
  const std::string message =
      fmt::format("{}: {} at {}", call, cublasGetStatusString(status), place);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(message);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
    throw Unavailable(message);
  }
  throw Error(message);
}

}  // namespace duet::cuda

// Evaluates a cuBLAS or cuBLASLt call and throws if it fails.
#define DUET_CUBLAS_CHECK(...)                                           \
  do {                                                                   \
    const cublasStatus_t duet_cublas_status = (__VA_ARGS__);             \
    if (duet_cublas_status != CUBLAS_STATUS_SUCCESS) {                   \
      ::duet::cuda::throw_cublas_error(duet_cublas_status, #__VA_ARGS__, \
                                       DUET_GPU_PLACE(__LINE__));        \
    }                                                                    \
  } while (false)
