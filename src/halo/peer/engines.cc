#include "halo/peer/engines.h"

#include "collectives/own_engines.h"
#include "collectives/session/lanes.h"
#include "collectives/session/watchdog.h"
#include "halo/exchange_session.h"
#include "halo/peer/neighbours.h"
#include "team/nodes.h"

namespace duet {
namespace {

constexpr CopyLanes kLaneForEachSide{2, false};

// A rank that is its own neighbour may copy by compute units. Fewer blocks than these may then wait
// for such copies: less than half of what an A100 or H100 runs at a time. The same on all ranks.
constexpr std::int64_t kBlocksThatWaitAlone = 64;

// Words for the sums of all ranks, in two turns.
int words_of_sums(const HaloGrid& grid) {
  return 2 * static_cast<int>(ExchangingSweep::kWordsOfSum) * grid.ranks;
}

// Sweeps whose own blocks take part in the exchange: one launch per iteration. The boundary rows
// have the first blocks, so they are on their way while the interior is computed.
// What both plans have; each makes its kernel.
class PlanOfOneKernel : public HaloPlan {
 public:
  PlanOfOneKernel(Rank& rank, const HaloTask& task, Watchdog& watchdog)
      : sweeper_(make_sweeper(rank.device)),
        grid_(task.grid),
        fields_(rank, grid_),
        sums_(rank, words_of_sums(grid_)),
        sums_watched_(watchdog, sums_) {}

  const FieldShape& shape() const override { return fields_.shape(); }
  Span field(int parity) const override { return fields_.field(parity); }
  bool makes_norms() const override { return true; }
  std::int64_t partials() const override { return 0; }

 protected:
  ExchangingSweep sweep() const {
    const Ring& ring = fields_.ring();
    ExchangingSweep sweep;
    sweep.shape = shape();
    for (const int parity : {0, 1}) sweep.field[parity] = field(parity);
    sweep.rank = ring.index;
    for (int i = 0; i < grid_.ranks; ++i) {
      sweep.sums.push_back(sums_.at(grid_.ranks == 1 ? ring.above : i, 0, words_of_sums(grid_)));
    }
    return sweep;
  }

  std::unique_ptr<Sweeper> sweeper_;
  HaloGrid grid_;
  PeerFields fields_;
  PeerSemaphores sums_;
  Watched sums_watched_;
  std::unique_ptr<SweepKernel> kernel_;
};

class FusedPlan : public PlanOfOneKernel {
 public:
  FusedPlan(Rank& rank, const HaloTask& task, Watchdog& watchdog)
      : PlanOfOneKernel(rank, task, watchdog), words_(rank, 2), watched_(watchdog, words_) {
    ExchangingSweep sweep = this->sweep();
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
  void enqueue(Stream& stream, const Iteration& iteration) override {
    kernel_->enqueue(stream, iteration.parity, iteration.norm, {false, !iteration.more_follow});
  }
  std::string algorithm() const override { return "stores by the sweep's blocks"; }

 private:
  PeerSemaphores words_;
  Watched watched_;
};

// Semaphores that a rank's own kernel signals.
class OwnSemaphores : public DeviceWaits {
 public:
  OwnSemaphores(Device& device, int count)
      : device_(device), all_(zeroed_semaphores(device, count)) {}

  Semaphore at(std::size_t index) const { return semaphore_at(all_, index); }
  void release_waits() noexcept override { release_all(device_, all_, 0); }

 private:
  Device& device_;
  Buffer all_;
};

class FusedCopiesPlan : public PlanOfOneKernel {
 public:
  FusedCopiesPlan(Rank& rank, const HaloTask& task, Watchdog& watchdog)
      : PlanOfOneKernel(rank, task, watchdog),
        lanes_(rank.device, kLaneForEachSide),
        arrived_(rank, fields_.ring()),
        ready_(rank.device, 4),
        watched_(watchdog, arrived_.waits()),
        ready_watched_(watchdog, ready_) {
    ExchangingSweep sweep = this->sweep();
    for (const int parity : {0, 1}) {
      sweep.from_above[parity] = arrived_.from(SideOfRank::above, parity).word;
      sweep.from_below[parity] = arrived_.from(SideOfRank::below, parity).word;
      sweep.to_above[parity] = ready(SideOfRank::above, parity).word;
      sweep.to_below[parity] = ready(SideOfRank::below, parity).word;
    }
    kernel_ = sweeper_->exchanging(sweep);
  }

  bool leaves_units() const { return kernel_->blocks_that_wait() < kBlocksThatWaitAlone; }
  void enqueue(Stream& stream, const Iteration& iteration) override {
    const int written = 1 - iteration.parity;
    if (opens_) lanes_.fork(stream, 2);
    // Each waits for what was enqueued before it, and for a norm for other ranks' kernels: streams
    // may share a queue of the device, and tools let one kernel end before the next is enqueued.
    kernel_->enqueue(stream, iteration.parity, iteration.norm, {opens_, false});
    for (const SideOfRank side : kSides) push(side, written);
    opens_ = !iteration.more_follow;
    if (!opens_) return;
    lanes_.join(stream, 2);
    stream.handshake(
        {{},
         {arrived_.from(SideOfRank::above, written), arrived_.from(SideOfRank::below, written)}});
  }
  std::string algorithm() const override {
    return "boundary first, pushes by dma that the sweep's blocks signal";
  }

 private:
  // One for each side and parity, as of RingSemaphores: the sweep signals that of k + 2 after it
  // has waited for the neighbour's row of k + 1, which came after this rank's row of k had left.
  // Behind a failure waits end early, and a signal may be lost: so these waits are released too.
  Semaphore ready(SideOfRank side, int parity) const {
    return ready_.at(2 * static_cast<std::size_t>(side) + static_cast<std::size_t>(parity));
  }

  void push(SideOfRank side, int parity) {
    const bool up = side == SideOfRank::above;
    const Span to = up ? fields_.halo_above(parity) : fields_.halo_below(parity);
    Stream& lane = lanes_.at(static_cast<int>(side));
    lane.handshake({{}, {ready(side, parity)}});
    lane.copy({to, row_at(field(parity), shape(), up ? 1 : shape().rows), Executor::dma, {}});
    lane.handshake({{arrived_.to(side, parity)}, {}});
  }

  SideStreams lanes_;
  RingSemaphores arrived_;
  OwnSemaphores ready_;
  Watched watched_, ready_watched_;
  bool opens_ = true;  // the next call is a sample's first
};

// The blocks of the boundary rows store them in the neighbours' halos as well, and signal.
// Collective, inside Team::each(). nullptr, on all ranks, where devices have no such kernel: all
// devices of a team are of one kind.
std::unique_ptr<HaloPlan> fused_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog) {
  if (!rank.device.info().is_gpu()) return nullptr;
  auto plan = std::make_unique<FusedPlan>(rank, task, watchdog);
  if (!plan->has_kernel()) return nullptr;
  return plan;
}

// Copy engines push the rows:
//
//   caller's stream                    lane of a side
//   sweep of all rows, boundary first
//     waits: neighbour's row is here
//     signal: own row is ready ------> wait, push the row
//     ...                              signal the neighbour: the row is there
//   sweep of all rows ...              ...
//
// The lanes fork before a sample's first sweep and join behind its last one; then the caller's
// stream waits until both neighbours' rows are here. Collective, inside Team::each(). nullptr, on
// all ranks, on devices that are no NVIDIA GPUs, and for a grid of one rank whose boundary rows
// have too many blocks. Its kernel needs rows that come while it runs.
std::unique_ptr<HaloPlan> fused_copies_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog) {
  if (!rank.device.info().kernels_see_peer_writes) return nullptr;
  auto plan = std::make_unique<FusedCopiesPlan>(rank, task, watchdog);
  if (task.grid.ranks == 1 && !plan->leaves_units()) return nullptr;
  return plan;
}

class PeerHaloSession : public ExchangeSession {
 public:
  PeerHaloSession(Team& team, std::unique_ptr<CollectiveSession> exchanges, Executor executor)
      : ExchangeSession(team, std::move(exchanges)),
        executor_(executor),
        mapped_(NodeMap::of(team).nodes() == 1 ||
                (all_mapped(team) && team.network().provider.empty())),
        watchdog_(team) {}

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    if (mapped_ && executor_ == Executor::kernel) {
      if (auto plan = fused_plan(rank, task, watchdog_)) return plan;
    } else if (mapped_ && task.overlap) {
      if (auto plan = fused_copies_plan(rank, task, watchdog_)) return plan;
    }
    return ExchangeSession::make_plan(rank, task);
  }

 private:
  Executor executor_;
  bool mapped_;  // all ranks can map each other's memory, and no rails are asked for
  Watchdog watchdog_;
};

class PeerHaloEngine : public HaloEngine {
 public:
  PeerHaloEngine(std::unique_ptr<CollectiveEngine> engine, Executor executor)
      : engine_(std::move(engine)), executor_(executor) {}
  std::string name() const override { return engine_->name(); }
  std::string device_kind() const override { return ""; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    return std::make_unique<PeerHaloSession>(team, engine_->open(team), executor_);
  }

 private:
  std::unique_ptr<CollectiveEngine> engine_;
  Executor executor_;
};

}  // namespace

std::unique_ptr<HaloEngine> make_dma_halo() {
  return std::make_unique<PeerHaloEngine>(make_dma_collectives(), Executor::dma);
}

std::unique_ptr<HaloEngine> make_kernel_halo() {
  return std::make_unique<PeerHaloEngine>(make_kernel_collectives(), Executor::kernel);
}

}  // namespace duet
