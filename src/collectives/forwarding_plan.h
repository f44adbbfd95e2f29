#pragma once

#include <memory>
#include <string>
#include <utility>

#include "collectives/engine.h"

namespace duet {

// A plan that adds something to another one, which it owns.
class ForwardingPlan : public CollectivePlan {
 public:
  explicit ForwardingPlan(std::unique_ptr<CollectivePlan> plan) : plan_(std::move(plan)) {}

  void enqueue(Stream& stream) override { plan_->enqueue(stream); }
  void enqueue_beside(Stream& stream, SideStreams& side, const CallCompute& compute) override {
    plan_->enqueue_beside(stream, side, compute);
  }
  void enqueue_rows(Stream& stream, const MultiplyRows& multiply) override {
    plan_->enqueue_rows(stream, multiply);
  }
  void enqueue_observed(Stream& stream, StepObserver& observer) override {
    plan_->enqueue_observed(stream, observer);
  }
  bool multiplies_rows() const override { return plan_->multiplies_rows(); }
  bool normalises() const override { return plan_->normalises(); }
  std::string algorithm() const override { return plan_->algorithm(); }
  void poison_staging() override { plan_->poison_staging(); }
  const RankSchedule* schedule() const override { return plan_->schedule(); }
  double wire_bytes() const override { return plan_->wire_bytes(); }
  double network_bytes() const override { return plan_->network_bytes(); }
  bool host_driven() const override { return plan_->host_driven(); }

 protected:
  std::unique_ptr<CollectivePlan> plan_;
};

}  // namespace duet
