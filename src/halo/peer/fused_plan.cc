#include "halo/peer/fused_plan.h"

#include "collectives/peer/lanes.h"
#include "halo/peer/neighbours.h"

namespace duet {
namespace {

constexpr CopyLanes kLaneForEachSide{3, false};  // the caller's stream, and these two

ExchangingSweep sweep_of(const PeerFields& fields) {
  ExchangingSweep sweep;
  sweep.shape = fields.shape();
  for (const int parity : {0, 1}) sweep.field[parity] = fields.field(parity);
  return sweep;
}

class FusedPlan : public HaloPlan {
 public:
  FusedPlan(Rank& rank, const HaloTask& task, Watchdog& watchdog)
      : sweeper_(make_sweeper(rank.device)),
        fields_(rank, task.grid),
        words_(rank, 2),
        watched_(watchdog, words_) {
    ExchangingSweep sweep = sweep_of(fields_);
    for (const int parity : {0, 1}) {
      sweep.above[parity] = fields_.halo_above(parity);
      sweep.below[parity] = fields_.halo_below(parity);
      // Word 0 of a rank is written by its neighbour above, word 1 by the one below.
      sweep.from_above[parity] = words_.at(rank.index, 0);
      sweep.from_below[parity] = words_.at(rank.index, 1);
      sweep.to_above[parity] = words_.at(fields_.ring().above, 1);
      sweep.to_below[parity] = words_.at(fields_.ring().below, 0);
    }
    kernel_ = sweeper_->exchanging(sweep);
  }

  bool has_kernel() const { return kernel_ != nullptr; }
  const FieldShape& shape() const override { return fields_.shape(); }
  Span field(int parity) const override { return fields_.field(parity); }
  std::int64_t partials() const override { return kernel_->partials(); }
  void enqueue(Stream& stream, const Iteration& iteration) override {
    kernel_->enqueue(stream, iteration.parity, iteration.partials, {false, !iteration.more_follow});
  }
  std::string algorithm() const override { return "stores by the sweep's blocks"; }

 private:
  std::unique_ptr<Sweeper> sweeper_;
  PeerFields fields_;
  PeerSemaphores words_;
  std::unique_ptr<SweepKernel> kernel_;
  Watched watched_;
};

class FusedCopiesPlan : public HaloPlan {
 public:
  FusedCopiesPlan(Rank& rank, const HaloTask& task, Watchdog& watchdog)
      : sweeper_(make_sweeper(rank.device)),
        lanes_(rank.device, kLaneForEachSide),
        fields_(rank, task.grid),
        arrived_(rank, fields_.ring()),
        ready_(zeroed_semaphores(rank.device, 4)),
        watched_(watchdog, arrived_.waits()) {
    ExchangingSweep sweep = sweep_of(fields_);
    for (const int parity : {0, 1}) {
      sweep.from_above[parity] = arrived_.from(SideOfRank::above, parity).word;
      sweep.from_below[parity] = arrived_.from(SideOfRank::below, parity).word;
      sweep.to_above[parity] = ready(SideOfRank::above, parity).word;
      sweep.to_below[parity] = ready(SideOfRank::below, parity).word;
    }
    kernel_ = sweeper_->exchanging(sweep);
  }

  bool has_kernel() const { return kernel_ != nullptr; }
  const FieldShape& shape() const override { return fields_.shape(); }
  Span field(int parity) const override { return fields_.field(parity); }
  std::int64_t partials() const override { return kernel_->partials(); }
  void enqueue(Stream& stream, const Iteration& iteration) override {
    const bool closes = !iteration.more_follow;
    if (opens_) lanes_.fork(stream, 2);
    // Before what waits for it: streams may share a queue of the device.
    kernel_->enqueue(stream, iteration.parity, iteration.partials, {opens_, closes});
    for (const SideOfRank side : kSides) push(side, 1 - iteration.parity);
    if (closes) lanes_.join(stream, 2);
    opens_ = closes;
  }
  std::string algorithm() const override {
    return "boundary first, pushes by dma that the sweep's blocks signal";
  }

 private:
  // One for each side and parity, as of RingSemaphores: the sweep signals that of k + 2 after it
  // has waited for the neighbour's row of k + 1, which came after this rank's row of k had left.
  Semaphore ready(SideOfRank side, int parity) const {
    return semaphore_at(ready_,
                        2 * static_cast<std::size_t>(side) + static_cast<std::size_t>(parity));
  }

  void push(SideOfRank side, int parity) {
    const bool up = side == SideOfRank::above;
    const Span to = up ? fields_.halo_above(parity) : fields_.halo_below(parity);
    Stream& lane = lanes_.at(static_cast<int>(side));
    lane.handshake({{}, {ready(side, parity)}});
    lane.copy({to, row_at(field(parity), shape(), up ? 1 : shape().rows), Executor::dma, {}});
    lane.handshake({{arrived_.to(side, parity)}, {}});
  }

  std::unique_ptr<Sweeper> sweeper_;
  SideStreams lanes_;
  PeerFields fields_;
  RingSemaphores arrived_;
  Buffer ready_;
  std::unique_ptr<SweepKernel> kernel_;
  Watched watched_;
  bool opens_ = true;  // the next call is a sample's first
};

bool is_gpu(const Rank& rank) {
  const std::string& kind = rank.device.info().kind;
  return kind != "host" && kind != "sim";
}

// All devices of a team are of one kind, so all have the kernel or none has.
template <typename Plan>
std::unique_ptr<HaloPlan> plan_with_kernel(Rank& rank, const HaloTask& task, Watchdog& watchdog) {
  if (!is_gpu(rank)) return nullptr;
  auto plan = std::make_unique<Plan>(rank, task, watchdog);
  if (!plan->has_kernel()) return nullptr;
  return plan;
}

}  // namespace

std::unique_ptr<HaloPlan> fused_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog) {
  return plan_with_kernel<FusedPlan>(rank, task, watchdog);
}

std::unique_ptr<HaloPlan> fused_copies_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog) {
  return plan_with_kernel<FusedCopiesPlan>(rank, task, watchdog);
}

}  // namespace duet
