#include "collectives/session/session_plans.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <utility>

#include "collectives/forwarding_plan.h"

namespace duet {
namespace {

constexpr double kFinishSeconds = 30;  // seconds for a device whose waits are released

}  // namespace

class PlanInUse : public ForwardingPlan {
 public:
  PlanInUse(SessionPlans& plans, const Rank& rank, std::unique_ptr<CollectivePlan> plan,
            std::string_view call)
      : ForwardingPlan(std::move(plan)),
        plans_(plans),
        rank_(rank.index),
        device_(rank.device),
        call_(call),
        made_at_(plans.watchdog_.failures()) {
    const std::lock_guard<std::mutex> lock(plans_.mutex_);
    plans_.in_use_.insert(this);
  }
  ~PlanInUse() override {
    const bool keeps = in_doubt();
    if (!keeps) plan_.reset();
    const std::lock_guard<std::mutex> lock(plans_.mutex_);
    plans_.in_use_.erase(this);
    if (keeps) plans_.kept_.push_back(std::move(plan_));
  }
  PlanInUse(const PlanInUse&) = delete;
  PlanInUse& operator=(const PlanInUse&) = delete;

  // Before enqueue() threw, it may have enqueued waits for peers, which wait for the rest of the
  // call.
  void enqueue(Stream& stream) override {
    guarded([&] { plan_->enqueue(stream); });
  }
  void enqueue_beside(Stream& stream, SideStreams& side, const CallCompute& compute) override {
    guarded([&] { plan_->enqueue_beside(stream, side, compute); });
  }
  void enqueue_rows(Stream& stream, const MultiplyRows& multiply) override {
    if (!plan_->multiplies_rows()) return CollectivePlan::enqueue_rows(stream, multiply);
    guarded([&] { plan_->enqueue_rows(stream, multiply); });
  }
  bool takes_buffers() const override { return plan_->takes_buffers(); }
  // A wrong buffer is found before anything is enqueued, and fails nobody.
  void enqueue_at(Stream& stream, const BufferAddresses& buffers) override {
    std::optional<BadArgument> wrong;
    guarded([&] {
      try {
        plan_->enqueue_at(stream, buffers);
      } catch (const BadArgument& error) {
        wrong = error;
      }
    });
    if (wrong) throw BadArgument(*wrong);
  }
  void enqueue_observed(Stream& stream, StepObserver& observer) override {
    guarded([&] { plan_->enqueue_observed(stream, observer); });
  }

  // Whether its work may still be under way after a failure. While an exception unwinds the stack,
  // a failure may not be known yet.
  bool in_doubt() const {
    const bool well = plans_.watchdog_.well(made_at_) && std::uncaught_exceptions() == 0;
    return !well && has_enqueued_.load(std::memory_order_relaxed);
  }

 private:
  template <typename Calls>
  void guarded(const Calls& calls) {
    plans_.watchdog_.require_well(made_at_, call_);
    has_enqueued_.store(true, std::memory_order_relaxed);
    try {
      calls();
    } catch (const std::exception& error) {
      fail_and_finish(error.what());
      throw;
    } catch (...) {
      fail_and_finish("what a call computes ended with an exception");
      throw;
    }
  }

  void fail_and_finish(const char* what) {
    plans_.team_.fail(rank_, what);
    try {
      device_.finish(kFinishSeconds);
    } catch (const std::exception&) {
      // The first error is on its way already.
    }
  }

  SessionPlans& plans_;
  const int rank_;
  Device& device_;
  const std::string_view call_;
  const int made_at_;
  std::atomic<bool> has_enqueued_{false};
};

SessionPlans::~SessionPlans() {
  free_kept();
  for (auto& plan : kept_) static_cast<void>(plan.release());
  if (!kept_memory_.empty()) new std::vector<Buffer>(std::move(kept_memory_));
}

std::unique_ptr<CollectivePlan> SessionPlans::hand_out(const Rank& rank,
                                                       std::unique_ptr<CollectivePlan> plan,
                                                       std::string_view call) {
  return std::make_unique<PlanInUse>(*this, rank, std::move(plan), call);
}

// Peers may write to it though this rank has enqueued nothing: a failure releases their waits for
// it.
void SessionPlans::end(Buffer memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool in_doubt = std::uncaught_exceptions() > 0 || !team_.failure().empty() ||
                        !kept_.empty() ||
                        std::any_of(in_use_.begin(), in_use_.end(),
                                    [](const PlanInUse* plan) { return plan->in_doubt(); });
  if (in_doubt) kept_memory_.push_back(std::move(memory));
}

void SessionPlans::free_kept() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.empty() && kept_memory_.empty()) return;
  try {
    for (int local = 0; local < team_.local_size(); ++local) {
      team_.local_rank(local).device.finish(kFinishSeconds);
    }
  } catch (const std::exception&) {
    return;
  }
  kept_.clear();
  kept_memory_.clear();
}

}  // namespace duet
