#include "halo/peer/fused_plan.h"

#include "halo/peer/neighbours.h"

namespace duet {
namespace {

class FusedPlan : public HaloPlan {
 public:
  FusedPlan(Rank& rank, const HaloTask& task, Watchdog& watchdog)
      : sweeper_(make_sweeper(rank.device)),
        fields_(rank, task.grid),
        words_(rank, 2),
        watched_(watchdog, words_) {
    ExchangingSweep sweep;
    sweep.shape = fields_.shape();
    for (const int parity : {0, 1}) {
      sweep.field[parity] = fields_.field(parity);
      sweep.above[parity] = fields_.halo_above(parity);
      sweep.below[parity] = fields_.halo_below(parity);
    }
    // Word 0 of a rank is written by its neighbour above, word 1 by the one below.
    sweep.from_above = words_.at(rank.index, 0);
    sweep.from_below = words_.at(rank.index, 1);
    sweep.to_above = words_.at(fields_.ring().above, 1);
    sweep.to_below = words_.at(fields_.ring().below, 0);
    kernel_ = sweeper_->exchanging(sweep);
  }

  bool has_kernel() const { return kernel_ != nullptr; }
  const FieldShape& shape() const override { return fields_.shape(); }
  Span field(int parity) const override { return fields_.field(parity); }
  std::int64_t partials() const override { return kernel_->partials(); }
  void enqueue(Stream& stream, const Iteration& iteration) override {
    kernel_->enqueue(stream, iteration.parity, iteration.partials, !iteration.more_follow);
  }
  std::string algorithm() const override { return "stores by the sweep's blocks"; }

 private:
  std::unique_ptr<Sweeper> sweeper_;
  PeerFields fields_;
  PeerSemaphores words_;
  std::unique_ptr<SweepKernel> kernel_;
  Watched watched_;
};

}  // namespace

// All devices of a team are of one kind, so all have the kernel or none has.
std::unique_ptr<HaloPlan> fused_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog) {
  const DeviceInfo& info = rank.device.info();
  if (info.kind == "host" || info.kind == "sim") return nullptr;
  auto plan = std::make_unique<FusedPlan>(rank, task, watchdog);
  if (!plan->has_kernel()) return nullptr;
  return plan;
}

}  // namespace duet
