#include <cstring>

#include "gemm/cublas/types.h"
#include "gemm/lt/problem.h"
#include "gemm/lt/vendor.h"

namespace duet::cuda {
namespace {

// Split-K sums are reduced in the compute type only, so that every candidate accumulates in fp32.
constexpr std::uint32_t kReductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

template <typename Value>
Value config(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value{};
  std::size_t written = 0;
  static_cast<void>(
      cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof value, &written));
  return value;
}

// Whether the algorithm's kernels can read and write at such addresses.
bool runs_aligned_to(const cublasLtMatmulAlgo_t& algo, int alignment) {
  for (auto operand :
       {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES}) {
    std::uint32_t least = 0;
    std::size_t written = 0;
    static_cast<void>(
        cublasLtMatmulAlgoCapGetAttribute(&algo, operand, &least, sizeof least, &written));
    if (least > static_cast<std::uint32_t>(alignment)) return false;
  }
  return true;
}

}  // namespace

std::string describe(const LtAlgorithm& algorithm) {
  const cublasLtMatmulAlgo_t& a = algorithm.algo;
  return fmt::format(
      "algorithm {}, tile {}, stages {}, cluster {}, swizzle {}, split-k {}, option {}, {} bytes",
      config<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_ID),
      config<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_TILE_ID),
      config<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_STAGES_ID),
      config<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID),
      config<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING),
      config<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
      config<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION), algorithm.workspace_bytes);
}

bool same(const LtAlgorithm& a, const LtAlgorithm& b) {
  return std::memcmp(&a.algo, &b.algo, sizeof a.algo) == 0;
}

LtTypes lt_types(const GpuDevice&, const GemmProblem& problem) {
  const ComputeTypes types = compute_types(problem.dtype);
  const Scales scale = scales(problem);
  return {*data_type(type_of_a(problem)),
          *data_type(problem.dtype),
          *data_type(problem.output),
          types.scale,
          types.compute,
          scale.alpha,
          scale.beta};
}

void prefer_always(cublasLtMatmulPreference_t preference, int alignment) {
  prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions);
  for (auto operand :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(preference, operand, static_cast<std::uint32_t>(alignment));
  }
}

void allow_fast_sums(cublasLtMatmulDesc_t operation) {
  set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(1));
}

std::string lt_version(cublasLtHandle_t) {
  return fmt::format("cuBLASLt {}", cublasLtGetVersion());
}

bool LtProblem::check(LtAlgorithm& algorithm) const {
  if (!runs_aligned_to(algorithm.algo, problem_.alignment)) return false;
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle_.get(), operation_.get(), b_.get(), a_.get(), c_.get(),
                              c_.get(), &algorithm.algo, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.state != CUBLAS_STATUS_SUCCESS) return false;
  algorithm.workspace_bytes = result.workspaceSize;
  return true;
}

}  // namespace duet::cuda
