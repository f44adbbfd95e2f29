#include "gemm/cublas/types.h"

namespace duet::cuda {

std::optional<cudaDataType_t> data_type(DType dtype) {
  switch (dtype) {
    case DType::fp32:
    case DType::tf32:
      return CUDA_R_32F;
    case DType::fp16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::fp8_e4m3:
      return CUDA_R_8F_E4M3;
    case DType::fp8_e5m2:
      return CUDA_R_8F_E5M2;
    case DType::int8:
      return CUDA_R_8I;
    case DType::int32:
      return CUDA_R_32I;
  }
  return std::nullopt;
}

ComputeTypes compute_types(DType dtype) {
  if (dtype == DType::tf32) return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
  if (dtype == DType::int8) return {CUBLAS_COMPUTE_32I, CUDA_R_32I};
  return {CUBLAS_COMPUTE_32F, CUDA_R_32F};
}

Scales scales(const GemmProblem& problem) {
  static const float float_one = 1, float_zero = 0;
  static const std::int32_t int_one = 1, int_zero = 0;
  if (problem.dtype == DType::int8) return {&int_one, problem.accumulate ? &int_one : &int_zero};
  return {&float_one, problem.accumulate ? &float_one : &float_zero};
}

}  // namespace duet::cuda
