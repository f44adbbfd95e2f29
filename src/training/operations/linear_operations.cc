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

GemmProblem problem_of(const LinearGelu& o) {
  return problem_of(Layout::nt, o.x, o.hidden, o.x.columns, false, Epilogue::gelu);
}

GemmProblem problem_of(const LinearBackwardGelu& o) {
  return problem_of(Layout::nn, o.dy, o.hidden, o.dy.columns, false, Epilogue::gelu_backward);
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
    : Operations(device),
      tuning_seconds_(options.tuning_seconds),
      engines_(gemm_engines(device.info().kind)) {}

void LinearOperations::enqueue(Stream& stream, const LinearForward& o) {
  multiply(stream, problem_of(Layout::nt, o.x, o.y, o.x.columns, false),
           {o.x.span, o.w.span, o.y.span, {}});
}

void LinearOperations::enqueue(Stream& stream, const LinearAdd& o) {
  multiply(stream, problem_of(Layout::nt, o.x, o.y, o.x.columns, true),
           {o.x.span, o.w.span, o.y.span, addend_of(o.residual, o.y)});
}

void LinearOperations::enqueue(Stream& stream, const LinearBackwardInput& o) {
  multiply(stream,
           problem_of(Layout::nn, o.dy, o.dx, o.dy.columns, o.accumulate == Accumulate::yes),
           {o.dy.span, o.w.span, o.dx.span, {}});
}

void LinearOperations::enqueue(Stream& stream, const LinearBackwardWeight& o) {
  multiply(stream, problem_of(Layout::tn, o.dy, o.dw, o.dy.rows, o.accumulate == Accumulate::yes),
           {o.dy.span, o.x.span, o.dw.span, {}});
}

void LinearOperations::enqueue(Stream& stream, const LinearGelu& o) {
  multiply_fused(stream, o, {o.x.span, o.w.span, o.activated.span, {}, o.hidden.span});
}

void LinearOperations::enqueue(Stream& stream, const LinearBackwardGelu& o) {
  multiply_fused(stream, o, {o.dy.span, o.w.span, o.dhidden.span, {}, o.hidden.span});
}

void LinearOperations::enqueue(Stream& stream, const MultiplyScaled& o) {
  const Tensor &a = o.a.values, &b = o.b.values;
  GemmProblem problem = problem_of(Layout::nt, b, o.y, b.columns, o.addend.count() > 0);
  problem.a_is_e5m2 = a.dtype == DType::fp8_e5m2;
  problem.scaled = true;
  problem.fast_sums = o.sums == Sums::fast;
  GemmBuffers buffers{a.span, b.span, o.y.span, addend_of(o.addend, o.y)};
  buffers.a_scale = o.a.scale.span;
  buffers.b_scale = o.b.scale.span;
  multiply(stream, problem, buffers);
}

bool LinearOperations::fuses(const LinearGelu& operation) const {
  return fuses(problem_of(operation));
}

bool LinearOperations::fuses(const LinearBackwardGelu& operation) const {
  return fuses(problem_of(operation));
}

bool LinearOperations::fuses(const GemmProblem& problem) const {
  const auto found = fused_.find(key_of(problem));
  return found != fused_.end() && found->second != nullptr;
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

template <typename Fused>
void LinearOperations::multiply_fused(Stream& stream, const Fused& operation,
                                      const GemmBuffers& buffers) {
  const GemmProblem problem = problem_of(operation);
  const auto separately = [&] {
    dispatch(stream, operation.linear());
    dispatch(stream, operation.gelu());
  };
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

}  // namespace duet
