// rocBLAS, opened at run time: the part of its binary interface that Duet uses, declared here after
// AMD's rocBLAS API reference. Building therefore needs no header of it, and one build runs with
// ROCm 6 and 7.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/vendor.h"

namespace duet::rocblas {

using Handle = struct _rocblas_handle*;

// rocblas_status
using Status = int;
constexpr Status kSuccess = 0, kNotImplemented = 2, kMemoryError = 5, kArchMismatch = 15;

// rocblas_operation
using Operation = int;
constexpr Operation kNone = 111, kTranspose = 112;

// rocblas_datatype
using Type = int;
constexpr Type kFp16 = 150, kFp32 = 151, kInt8 = 160, kInt32 = 162, kBf16 = 168;

constexpr int kStandardAlgorithm = 0;  // rocblas_gemm_algo

struct Library {
  Status (*create_handle)(Handle* handle) = nullptr;
  Status (*destroy_handle)(Handle handle) = nullptr;
  Status (*set_stream)(Handle handle, hipStream_t stream) = nullptr;
  Status (*set_workspace)(Handle handle, void* data, std::size_t bytes) = nullptr;
  const char* (*status_text)(Status status) = nullptr;
  // Column-major D = alpha op(A) op(B) + beta C.
  Status (*gemm_ex)(Handle handle, Operation a_operation, Operation b_operation, std::int32_t m,
                    std::int32_t n, std::int32_t k, const void* alpha, const void* a, Type a_type,
                    std::int32_t a_leading, const void* b, Type b_type, std::int32_t b_leading,
                    const void* beta, const void* c, Type c_type, std::int32_t c_leading, void* d,
                    Type d_type, std::int32_t d_leading, Type compute_type, int algorithm,
                    std::int32_t solution, std::uint32_t flags) = nullptr;
};

// Opens the library once. Throws Unavailable with the loader's reason.
const Library& library();

}  // namespace duet::rocblas
