// A GemmProblem as cuBLAS arguments. Row-major C = A x B is column-major C^T = B^T x A^T: cuBLAS's
// first operand is Duet's B, and its M is Duet's N.
#pragma once

#include <cublas_v2.h>

#include <optional>

#include "gemm/problem.h"

namespace duet::cuda {

std::optional<cudaDataType_t> data_type(DType dtype);

// The accumulation type, and the type of alpha and beta.
struct ComputeTypes {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
};
ComputeTypes compute_types(DType dtype);

// Pointers to alpha and beta in the scale type: 1, and 0 or, if the problem accumulates, 1.
struct Scales {
  const void* alpha = nullptr;
  const void* beta = nullptr;
};
Scales scales(const GemmProblem& problem);

// The operations on B, cuBLAS's first operand, and on A, and the leading dimension of B; that of A
// is row_step_of_a().
inline cublasOperation_t operation_b(const GemmProblem& p) {
  return p.layout == Layout::nt ? CUBLAS_OP_T : CUBLAS_OP_N;
}
inline std::int64_t leading_b(const GemmProblem& p) { return p.layout == Layout::nt ? p.k : p.n; }
inline cublasOperation_t operation_a(const GemmProblem& p) {
  return p.layout == Layout::tn ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace duet::cuda
