// Row-major C = A x B is column-major C^T = B^T x A^T: the library's first operand is Duet's B, and
// its M is Duet's N.
#include "gemm/lt/problem.h"

namespace duet::DUET_GPU {
namespace {

auto make_layout(ltDataType_t type, std::uint64_t rows, std::uint64_t columns,
                 std::int64_t leading) {
  ltMatrixLayout_t layout = nullptr;
  DUET_LT_CHECK(ltMatrixLayoutCreate(&layout, type, rows, columns, leading));
  return Handle<ltMatrixLayout_t, ltMatrixLayoutDestroy>(layout);
}

// Both libraries' GELU is the tanh form.
void set_epilogue(ltMatmulDesc_t operation, const GemmProblem& problem) {
  if (problem.epilogue == Epilogue::none) return;
  set(operation, ltDescEpilogue,
      problem.epilogue == Epilogue::gelu ? ltEpilogueGeluAux : ltEpilogueDgelu);
  set(operation, ltDescEpilogueAuxLd, problem.n);
  // Stands for that of a call: ranking algorithms looks at its alignment.
  const auto aux = static_cast<std::uintptr_t>(kMatrixAlignment);
  set(operation, ltDescEpilogueAux, aux);
}

// Factors stand for those of a call, as above.
void set_scales(ltMatmulDesc_t operation, const GemmProblem& problem) {
  if (problem.fast_sums) allow_fast_sums(operation);
  if (!problem.scaled) return;
  const auto scale = static_cast<std::uintptr_t>(kMatrixAlignment);
  set(operation, ltDescScaleA, scale);
  set(operation, ltDescScaleB, scale);
}

}  // namespace

LtProblem::LtProblem(GpuDevice& device, const GemmProblem& problem)
    : problem_(problem), types_(lt_types(device, problem)) {
  device.use();
  ltHandle_t handle = nullptr;
  DUET_LT_CHECK(ltCreate(&handle));
  handle_.reset(handle);
  ltMatmulDesc_t operation = nullptr;
  DUET_LT_CHECK(ltMatmulDescCreate(&operation, types_.compute, types_.scale));
  operation_.reset(operation);
  const bool nt = problem.layout == Layout::nt, tn = problem.layout == Layout::tn;
  set(operation, ltDescTransA, nt ? ltOpT : ltOpN);
  set(operation, ltDescTransB, tn ? ltOpT : ltOpN);
  set_epilogue(operation, problem);
  set_scales(operation, problem);
  const auto m = static_cast<std::uint64_t>(problem.m), n = static_cast<std::uint64_t>(problem.n),
             k = static_cast<std::uint64_t>(problem.k);
  a_ = make_layout(types_.a, tn ? m : k, tn ? k : m, row_step_of_a(problem));
  b_ = make_layout(types_.b, nt ? k : n, nt ? n : k, nt ? problem.k : problem.n);
  c_ = make_layout(types_.out, n, m, problem.n);
}

std::vector<LtAlgorithm> LtProblem::heuristics(std::uint64_t workspace_bytes, int count) const {
  ltMatmulPreference_t made = nullptr;
  DUET_LT_CHECK(ltMatmulPreferenceCreate(&made));
  const Handle<ltMatmulPreference_t, ltMatmulPreferenceDestroy> preference(made);
  prefer(made, ltPreferMaxWorkspace, workspace_bytes);
  prefer_always(made, problem_.alignment);
  std::vector<ltMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int returned = 0;
  const ltStatus_t status =
      ltMatmulAlgoGetHeuristic(handle_.get(), operation_.get(), b_.get(), a_.get(), c_.get(),
                               c_.get(), made, count, results.data(), &returned);
  std::vector<LtAlgorithm> algorithms;
  if (status == ltNotSupported || status == ltInvalidValue) {
    return algorithms;  // the library has none for these types and layouts
  }
  DUET_LT_CHECK(status);
  for (int i = 0; i < returned; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == ltSuccess) algorithms.push_back({result.algo, result.workspaceSize});
  }
  return algorithms;
}

ltStatus_t LtProblem::run(const LtAlgorithm& algorithm, const GemmBuffers& buffers,
                          const Span& workspace, gpuStream_t stream) const {
  const Span& addend = buffers.addend ? *buffers.addend : buffers.c;
  if (buffers.aux) set(operation_.get(), ltDescEpilogueAux, buffers.aux->data);
  if (buffers.a_scale && buffers.b_scale) {  // the library's A is B: it counts by columns
    set(operation_.get(), ltDescScaleA, buffers.b_scale->data);
    set(operation_.get(), ltDescScaleB, buffers.a_scale->data);
  }
  return ltMatmul(handle_.get(), operation_.get(), types_.alpha, buffers.b.data, b_.get(),
                  buffers.a.data, a_.get(), types_.beta, addend.data, c_.get(), buffers.c.data,
                  c_.get(), &algorithm.algo, workspace.data, workspace.bytes, stream);
}

}  // namespace duet::DUET_GPU
