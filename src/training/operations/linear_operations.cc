#include "training/operations/linear_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "gemm/tuning.h"
#include "training/operations/is_faster.h"

namespace duet {
namespace {

constexpr double kStepSeconds = 120;
// A problem of fewer FLOP is tuned in a share of the time, in no less than the shortest one.
constexpr double kTunedFlop = 5e10, kShortestTuning = 0.01;
// Of the choice between one GEMM and a GEMM with a kernel after it.
constexpr const char *kFused = "fused", *kSeparate = "separate";

// Matrices of x's type; C of `result`'s.
GemmProblem problem_of(Layout layout, const Tensor& x, const Tensor& result, std::int64_t k,
                       bool accumulate, Epilogue epilogue = Epilogue::none) {
  return {result.rows, result.columns, k, x.dtype, result.dtype, layout, accumulate, epilogue};
}

GemmProblem forward_gelu(const Tensor& x, const Tensor& hidden) {
  return problem_of(Layout::nt, x, hidden, x.columns, false, Epilogue::gelu);
}

GemmProblem backward_gelu(const Tensor& dy, const Tensor& hidden) {
  return problem_of(Layout::nn, dy, hidden, dy.columns, false, Epilogue::gelu_backward);
}

// None where the sum goes into y, or there is nothing to add.
std::optional<Span> addend_of(const Tensor& addend, const Tensor& y) {
  if (addend.count() == 0 || addend.span.data == y.span.data) return std::nullopt;
  return addend.span;
}

std::string key_of(const GemmProblem& problem) {
  return fmt::format("{} -> {}", name(problem), name(problem.output));
}

}  // namespace

LinearOperations::LinearOperations(Device& device, const OperationsOptions& options)
    : device_(device),
      tuning_seconds_(options.tuning_seconds),
      engines_(gemm_engines(device.info().kind)) {}

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
           {x.span, w.span, y.span, addend_of(residual, y)});
}

void LinearOperations::linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w,
                                             const Tensor& dx, Accumulate accumulate) {
  require(dy.columns == w.rows && dx.rows == dy.rows && dx.columns == w.columns,
          "linear backward by its input");
  multiply(stream, problem_of(Layout::nn, dy, dx, dy.columns, accumulate == Accumulate::yes),
           {dy.span, w.span, dx.span, {}});
}

void LinearOperations::linear_gelu(Stream& stream, const Tensor& x, const Tensor& w,
                                   const Tensor& hidden, const Tensor& activated) {
  multiply_fused(stream, forward_gelu(x, hidden), {x.span, w.span, activated.span, {}, hidden.span},
                 [&] {
                   linear(stream, x, w, hidden);
                   gelu(stream, hidden, activated);
                 });
}

void LinearOperations::linear_backward_gelu(Stream& stream, const Tensor& dy, const Tensor& w,
                                            const Tensor& hidden, const Tensor& dhidden) {
  multiply_fused(stream, backward_gelu(dy, hidden),
                 {dy.span, w.span, dhidden.span, {}, hidden.span}, [&] {
                   linear_backward_input(stream, dy, w, dhidden, Accumulate::no);
                   gelu_backward(stream, hidden, dhidden, dhidden);
                 });
}

bool LinearOperations::fuses_gelu(const Tensor& x, const Tensor& hidden) const {
  return fuses(forward_gelu(x, hidden));
}

bool LinearOperations::fuses_backward_gelu(const Tensor& dy, const Tensor& hidden) const {
  return fuses(backward_gelu(dy, hidden));
}

bool LinearOperations::fuses(const GemmProblem& problem) const {
  const auto found = fused_.find(key_of(problem));
  return found != fused_.end() && found->second != nullptr;
}

void LinearOperations::linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x,
                                              const Tensor& dw, Accumulate accumulate) {
  require(dy.rows == x.rows && dw.rows == dy.columns && dw.columns == x.columns,
          "linear backward by its weight");
  multiply(stream, problem_of(Layout::tn, dy, dw, dy.rows, accumulate == Accumulate::yes),
           {dy.span, x.span, dw.span, {}});
}

void LinearOperations::require_scaled(const ScaledTensor& a, const ScaledTensor& b,
                                      const Tensor& addend, const Tensor& y) {
  const Tensor &left = a.values, &right = b.values;
  require(is_fp8(left.dtype) && right.dtype == DType::fp8_e4m3 && left.columns == right.columns &&
              y.rows == left.rows && y.columns == right.rows && a.scale.count() == 1 &&
              b.scale.count() == 1,
          "product of quantised tensors");
  require(addend.count() == 0 ||
              (addend.rows == y.rows && addend.columns == y.columns && addend.dtype == y.dtype),
          "product of quantised tensors with an addend");
}

void LinearOperations::multiply_scaled(Stream& stream, const ScaledTensor& a, const ScaledTensor& b,
                                       const Tensor& addend, const Tensor& y, Sums sums) {
  require_scaled(a, b, addend, y);
  GemmProblem problem = problem_of(Layout::nt, b.values, y, b.values.columns, addend.count() > 0);
  problem.a_is_e5m2 = a.values.dtype == DType::fp8_e5m2;
  problem.scaled = true;
  problem.fast_sums = sums == Sums::fast;
  GemmBuffers buffers{a.values.span, b.values.span, y.span, addend_of(addend, y)};
  buffers.a_scale = a.scale.span;
  buffers.b_scale = b.scale.span;
  multiply(stream, problem, buffers);
}

void LinearOperations::multiply(Stream& stream, const GemmProblem& problem,
                                const GemmBuffers& buffers) {
  std::unique_ptr<GemmPlan>& plan = plans_[key_of(problem)];
  if (plan == nullptr) plan = make(stream, problem, buffers);
  if (!buffers.addend) return plan->enqueue(stream, buffers);
  if (plan->takes_addend()) return plan->enqueue(stream, buffers);
  stream.copy({buffers.c, *buffers.addend, Executor::kernel, {}});
  GemmBuffers in_place = buffers;
  in_place.addend.reset();
  plan->enqueue(stream, in_place);
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
  return plan_by_engine(problem, buffers);
}

std::unique_ptr<GemmPlan> LinearOperations::plan_by_engine(const GemmProblem& problem,
                                                           const GemmBuffers& buffers) {
  std::string reason = "it has no GEMM engine";
  Tuning tuning;
  tuning.reproducible = true;
  tuning.seconds = tuning_seconds_ * std::clamp(flop(problem) / kTunedFlop, kShortestTuning, 1.0);
  for (GemmEngine* engine : engines_.engines) {
    const auto skipped = engine->unsupported(device_, problem);
    if (!skipped) return engine->plan(device_, problem, buffers, tuning);
    reason = skipped->reason;
  }
  throw Unavailable(fmt::format("{}: gemm {}: {}", device_.info().name, name(problem), reason));
}

void LinearOperations::multiply_fused(Stream& stream, const GemmProblem& problem,
                                      const GemmBuffers& buffers,
                                      const std::function<void()>& separately) {
  const std::string key = key_of(problem);
  auto found = fused_.find(key);
  if (found == fused_.end()) {
    found = fused_.emplace(key, fused_if_faster(stream, problem, buffers, separately)).first;
  }
  if (found->second == nullptr) return separately();
  found->second->enqueue(stream, buffers);
}

std::unique_ptr<GemmPlan> LinearOperations::fused_if_faster(
    Stream& stream, const GemmProblem& problem, const GemmBuffers& buffers,
    const std::function<void()>& separately) {
  const std::string key = tuning_key({device_.info().model, "duet", "fused"}, problem);
  const auto known = tuning_cache().find(key);
  if (known && known->description != kFused) return nullptr;
  stream.synchronize(kStepSeconds);
  std::unique_ptr<GemmPlan> plan;
  try {
    plan = plan_by_engine(problem, buffers);
  } catch (const Unavailable&) {
    return nullptr;  // the usual case on devices other than CUDA's
  }
  if (known) return plan;
  const bool faster = is_faster(
      device_, stream, [&] { plan->enqueue(stream, buffers); }, separately);
  try {
    tuning_cache().store(key, {{}, 0, faster ? kFused : kSeparate});
  } catch (const Error&) {
    // This run goes on, and later runs choose again.
  }
  return faster ? std::move(plan) : nullptr;
}

std::uint64_t LinearOperations::workspace_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [problem, plan] : plans_) bytes += plan->workspace_bytes();
  for (const auto& [problem, plan] : fused_) bytes += plan ? plan->workspace_bytes() : 0;
  return bytes;
}

void LinearOperations::require(bool holds, const char* operation) {
  if (!holds) throw BadArgument(fmt::format("{}: expected tensors of fitting shapes", operation));
}

}  // namespace duet
