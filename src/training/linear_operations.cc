#include "training/linear_operations.h"

#include <fmt/format.h>

#include "core/error.h"

namespace duet {
namespace {

constexpr double kStepSeconds = 120;
constexpr double kTuningSeconds = 1;  // of each problem; a model has about ten

// Matrices of x's type; C of `result`'s.
GemmProblem problem_of(Layout layout, const Tensor& x, const Tensor& result, std::int64_t k,
                       bool accumulate) {
  return {result.rows, result.columns, k, x.dtype, result.dtype, layout, accumulate};
}

}  // namespace

LinearOperations::LinearOperations(Device& device)
    : device_(device), engines_(gemm_engines(device.info().kind)) {}

void LinearOperations::linear(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y) {
  require(x.columns == w.columns && y.rows == x.rows && y.columns == w.rows, "linear");
  multiply(stream, problem_of(Layout::nt, x, y, x.columns, false), {x.span, w.span, y.span, {}});
}

void LinearOperations::linear_add(Stream& stream, const Tensor& x, const Tensor& w,
                                  const Tensor& residual, const Tensor& y) {
  require(x.columns == w.columns && y.rows == x.rows && y.columns == w.rows &&
              residual.rows == y.rows && residual.columns == y.columns,
          "linear with a residual");
  multiply(stream, problem_of(Layout::nt, x, y, x.columns, true),
           {x.span, w.span, y.span, residual.span});
}

void LinearOperations::linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w,
                                             const Tensor& dx) {
  require(dy.columns == w.rows && dx.rows == dy.rows && dx.columns == w.columns,
          "linear backward by its input");
  multiply(stream, problem_of(Layout::nn, dy, dx, dy.columns, false),
           {dy.span, w.span, dx.span, {}});
}

void LinearOperations::linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x,
                                              const Tensor& dw, Accumulate accumulate) {
  require(dy.rows == x.rows && dw.rows == dy.columns && dw.columns == x.columns,
          "linear backward by its weight");
  multiply(stream, problem_of(Layout::tn, dy, dw, dy.rows, accumulate == Accumulate::yes),
           {dy.span, x.span, dw.span, {}});
}

void LinearOperations::multiply(Stream& stream, const GemmProblem& problem,
                                const GemmBuffers& buffers) {
  std::unique_ptr<GemmPlan>& plan =
      plans_[fmt::format("{} -> {}", name(problem), name(problem.output))];
  if (plan == nullptr) plan = make(stream, problem, buffers);
  if (!buffers.addend) return plan->enqueue(stream, buffers);
  if (plan->takes_addend()) return plan->enqueue(stream, buffers);
  stream.copy({buffers.c, *buffers.addend, Executor::kernel, {}});
  plan->enqueue(stream, {buffers.a, buffers.b, buffers.c, {}});
}

// Tuning multiplies many times, on another stream: a matrix that it would add to itself is left
// out.
std::unique_ptr<GemmPlan> LinearOperations::make(Stream& stream, const GemmProblem& problem,
                                                 GemmBuffers buffers) {
  Buffer sum;
  if (problem.accumulate && !buffers.addend) {
    sum = device_.allocate(buffers.c.bytes);
    buffers.c = sum.span();
    stream.fill(buffers.c, {FillKind::constant, 0});
  }
  stream.synchronize(kStepSeconds);
  std::string reason = "it has no GEMM engine";
  Tuning tuning;
  tuning.seconds = kTuningSeconds;
  for (GemmEngine* engine : engines_.engines) {
    const auto skipped = engine->unsupported(device_, problem);
    if (!skipped) return engine->plan(device_, problem, buffers, tuning);
    reason = skipped->reason;
  }
  throw Unavailable(fmt::format("{}: gemm {}: {}", device_.info().name, name(problem), reason));
}

std::uint64_t LinearOperations::workspace_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [problem, plan] : plans_) bytes += plan->workspace_bytes();
  return bytes;
}

void LinearOperations::require(bool holds, const char* operation) {
  if (!holds) throw BadArgument(fmt::format("{}: expected tensors of fitting shapes", operation));
}

}  // namespace duet
