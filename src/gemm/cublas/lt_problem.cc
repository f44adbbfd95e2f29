#include "gemm/cublas/lt_problem.h"

#include <cstring>

#include "gemm/cublas/types.h"

namespace duet::cuda {
namespace {

// Split-K sums are reduced in the compute type only, so that every candidate accumulates in fp32.
constexpr std::uint32_t kReductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
constexpr std::uint32_t kAlignment = 256;  // bytes, of Duet's buffers

template <typename Value>
Value config(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value{};
  std::size_t written = 0;
  static_cast<void>(
      cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof value, &written));
  return value;
}

auto make_layout(DType dtype, std::uint64_t rows, std::uint64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  DUET_CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&layout, *data_type(dtype), rows, columns,
                                               static_cast<std::int64_t>(rows)));
  return Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>(layout);
}

DType type_of_a(const GemmProblem& problem) {
  return problem.a_is_e5m2 ? DType::fp8_e5m2 : problem.dtype;
}

template <typename Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  DUET_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
}

// cuBLASLt's GELU is the tanh form.
void set_epilogue(cublasLtMatmulDesc_t operation, const GemmProblem& problem) {
  if (problem.epilogue == Epilogue::none) return;
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
      problem.epilogue == Epilogue::gelu ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_DGELU);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem.n);
  // Stands for that of a call: ranking algorithms looks at its alignment.
  const auto aux = static_cast<std::uintptr_t>(kAlignment);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
}

// Factors stand for those of a call, as above.
void set_scales(cublasLtMatmulDesc_t operation, const GemmProblem& problem) {
  if (problem.fast_sums) {
    set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(1));
  }
  if (!problem.scaled) return;
  const auto scale = static_cast<std::uintptr_t>(kAlignment);
  set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
  set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
}

template <typename Value>
void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
            const Value& value) {
  DUET_CUBLAS_CHECK(
      cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
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

LtProblem::LtProblem(GpuDevice& device, const GemmProblem& problem) : problem_(problem) {
  device.use();
  cublasLtHandle_t handle = nullptr;
  DUET_CUBLAS_CHECK(cublasLtCreate(&handle));
  handle_.reset(handle);
  const ComputeTypes types = compute_types(problem.dtype);
  cublasLtMatmulDesc_t operation = nullptr;
  DUET_CUBLAS_CHECK(cublasLtMatmulDescCreate(&operation, types.compute, types.scale));
  operation_.reset(operation);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, operation_b(problem));
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, operation_a(problem));
  set_epilogue(operation, problem);
  set_scales(operation, problem);
  const auto m = static_cast<std::uint64_t>(problem.m), n = static_cast<std::uint64_t>(problem.n),
             k = static_cast<std::uint64_t>(problem.k);
  const bool nt = problem.layout == Layout::nt, tn = problem.layout == Layout::tn;
  a_ = make_layout(type_of_a(problem), tn ? m : k, tn ? k : m);
  b_ = make_layout(problem.dtype, nt ? k : n, nt ? n : k);
  c_ = make_layout(problem.output, n, m);
}

std::vector<LtAlgorithm> LtProblem::heuristics(std::uint64_t workspace_bytes, int count) const {
  cublasLtMatmulPreference_t made = nullptr;
  DUET_CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&made));
  const Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference(made);
  prefer(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  prefer(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions);
  for (auto operand :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(made, operand, kAlignment);
  }
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int returned = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_.get(), operation_.get(), b_.get(), a_.get(), c_.get(),
                                     c_.get(), made, count, results.data(), &returned);
  std::vector<LtAlgorithm> algorithms;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) {
    return algorithms;  // the library has none for these types and layouts
  }
  DUET_CUBLAS_CHECK(status);
  for (int i = 0; i < returned; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) {
      algorithms.push_back({result.algo, result.workspaceSize});
    }
  }
  return algorithms;
}

std::vector<cublasLtMatmulAlgo_t> LtProblem::all() const {
  constexpr int kMostIds = 256;
  const ComputeTypes types = compute_types(problem_.dtype);
  const cudaDataType_t a = *data_type(type_of_a(problem_)), b = *data_type(problem_.dtype),
                       out = *data_type(problem_.output);
  std::vector<int> ids(kMostIds);
  int returned = 0;
  DUET_CUBLAS_CHECK(cublasLtMatmulAlgoGetIds(handle_.get(), types.compute, types.scale, b, a, out,
                                             out, kMostIds, ids.data(), &returned));
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < returned; ++i) {
    cublasLtMatmulAlgo_t algo{};
    const cublasStatus_t status =
        cublasLtMatmulAlgoInit(handle_.get(), types.compute, types.scale, b, a, out, out,
                               ids[static_cast<std::size_t>(i)], &algo);
    if (status == CUBLAS_STATUS_SUCCESS) algorithms.push_back(algo);
  }
  return algorithms;
}

bool LtProblem::check(LtAlgorithm& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle_.get(), operation_.get(), b_.get(), a_.get(), c_.get(),
                              c_.get(), &algorithm.algo, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.state != CUBLAS_STATUS_SUCCESS) return false;
  algorithm.workspace_bytes = result.workspaceSize;
  return true;
}

cublasStatus_t LtProblem::run(const LtAlgorithm& algorithm, const GemmBuffers& buffers,
                              const Span& workspace, gpuStream_t stream) const {
  const Scales scale = scales(problem_);
  const Span& addend = buffers.addend ? *buffers.addend : buffers.c;
  if (buffers.aux) {
    set(operation_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, buffers.aux->data);
  }
  if (buffers.a_scale && buffers.b_scale) {  // the library's A is B: it counts by columns
    set(operation_.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, buffers.b_scale->data);
    set(operation_.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, buffers.a_scale->data);
  }
  return cublasLtMatmul(handle_.get(), operation_.get(), scale.alpha, buffers.b.data, b_.get(),
                        buffers.a.data, a_.get(), scale.beta, addend.data, c_.get(), buffers.c.data,
                        c_.get(), &algorithm.algo, workspace.data, workspace.bytes, stream);
}

}  // namespace duet::cuda
