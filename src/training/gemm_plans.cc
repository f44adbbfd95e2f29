#include "training/gemm_plans.h"

#include <fmt/format.h>

#include "core/error.h"

namespace duet {

GemmPlans::GemmPlans(Device& device)
    : device_(device), engines_(gemm_engines(device.info().kind)) {}

void GemmPlans::enqueue(Stream& stream, const GemmProblem& problem, const GemmBuffers& buffers) {
  std::unique_ptr<GemmPlan>& plan = plans_[name(problem)];
  if (plan == nullptr) plan = make(problem, buffers);
  plan->enqueue(stream, buffers);
}

std::unique_ptr<GemmPlan> GemmPlans::make(const GemmProblem& problem, const GemmBuffers& buffers) {
  std::string reason = "it has no GEMM engine";
  for (GemmEngine* engine : engines_.engines) {
    const auto skipped = engine->unsupported(device_, problem);
    if (!skipped) return engine->plan(device_, problem, buffers, {});
    reason = skipped->reason;
  }
  throw Unavailable(fmt::format("{}: gemm {}: {}", device_.info().name, name(problem), reason));
}

}  // namespace duet
