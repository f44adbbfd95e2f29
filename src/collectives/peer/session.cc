#include "collectives/peer/session.h"

#include <algorithm>
#include <string_view>

#include "collectives/peer/all_reduce_plans.h"
#include "collectives/peer/in_flight.h"
#include "collectives/peer/scheduled_plans.h"
#include "collectives/planning.h"
#include "collectives/schedule/algorithms/broadcast_pieces.h"
#include "collectives/schedule/algorithms/relay.h"
#include "collectives/session/rank_lanes.h"
#include "collectives/session/session_memory.h"
#include "collectives/session/session_plans.h"
#include "collectives/session/team_links.h"
#include "collectives/tuning/thresholds.h"

namespace duet {
namespace {

// From this size on an all_reduce's first half goes through slots. Bus bandwidth in GB/s of a
// reduce_scatter on 4 x H200 at 256 MiB, 1 GiB and 4 GiB: through slots 297, 345, 352, by a kernel
// that pulls 318, 326, 327.
constexpr std::uint64_t kSlotsFrom = 512 << 20;

// From this size on an all_reduce's first half is added where it arrives, where that is asked for.
constexpr std::uint64_t kAddedFrom = 64 << 20;

// Below this size a reduce_scatter by two ranks is added where it arrives. Bus bandwidth in GB/s on
// two H200, bf16, out of place / in place:
//
//               16 MiB      64 MiB      256 MiB     1 GiB
//   in flight   153 / 199   193 / 252   245 / 289   285 / 298
//   slots       118 / 118   188 / 190   291 / 291   331 / 331
//
// Where they cross between 64 and 256 MiB was not measured.
constexpr std::uint64_t kAddedBelow = 128 << 20;

// Whether parts are to be added where they arrive. Without being asked for it, by two ranks, of
// which there are figures. Not by the plans of a training step, which share staging: blocks that
// add hold SMs of its GEMMs for longer (a step of Qwen3-8B on two H200: 797 ms in flight, 770 ms
// through slots).
bool wants_to_add(const Collective& collective, int ranks, bool shares_staging) {
  const std::uint64_t size = size_bytes(collective, ranks);
  const bool all = collective.kind == CollectiveKind::all_reduce;
  switch (chosen_reductions()) {
    case Reductions::slots:
      return false;
    case Reductions::in_flight:
      return !all || size >= kAddedFrom;
    case Reductions::automatic:
      break;
  }
  return ranks == 2 && !shares_staging && !all && size < kAddedBelow;
}

// From this size on a broadcast by kernels behind a switch goes from rank to rank.
constexpr std::uint64_t kRelayedBytes = 8 << 20;

// Whether parts are received where parts for other ranks are sent from.
bool swaps(const Collective& collective, const CollectiveBuffers& buffers) {
  return collective.kind == CollectiveKind::all_to_all && in_place(buffers);
}

// What a rank tells the others of a call that it is to plan.
constexpr std::string_view kSwaps = "in place", kCannotAdd = "does not add";

// nullptr where the plan needs memory that some rank cannot reach (no mapping, no peer access); the
// same on all ranks.
template <class Make>
std::unique_ptr<CollectivePlan> if_reachable(const Make& make) try {
  return make();
} catch (const Unreachable&) {
  return nullptr;
}

class PeerSession : public CollectiveSession {
 public:
  PeerSession(Team& team, OwnEngineKind kind)
      : kind_(kind),
        links_(team_links(team, team.size())),
        thresholds_(kind == OwnEngineKind::fastest ? team_thresholds(team) : Thresholds{}),
        plans_(std::make_shared<SessionPlans>(team)),
        pools_(static_cast<std::size_t>(team.local_size())) {
    if (kind == OwnEngineKind::sdma) links_.copying.executor = Executor::sdma;
    team.together([&] {
      for (int local = 0; local < team.local_size(); ++local) {
        lanes_.emplace_back(team.local_rank(local).device, links_.copying);
      }
    });
  }

  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    if (!in_place) return std::nullopt;
    const bool swaps = collective.kind == CollectiveKind::all_to_all;
    if (has_in_place(collective.kind) && !(swaps && kind_ == OwnEngineKind::kernel))
      return std::nullopt;
    return Skipped{"in place it would overwrite what it has still to send"};
  }

  std::optional<Skipped> uncapturable() const override {
    if (kind_ != OwnEngineKind::sdma) return std::nullopt;
    return Skipped{"copies by sdma are submitted by the CPU"};
  }

  void keep_schedules(bool on) override { keeps_schedules_ = on; }

  void share_staging(const Rank& rank, bool on) override { pool(rank).share(on); }

  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) override {
    return std::make_unique<SessionMemory>(plans_, rank.device.allocate(bytes));
  }

 protected:
  std::string request(const Rank& rank, const Collective& collective,
                      const CollectiveBuffers& buffers) override {
    if (swaps(collective, buffers)) return std::string(kSwaps);
    const bool adds = wants_to_add(collective, rank.size, pool(rank).shares()) &&
                      can_add(rank, collective, buffers);
    return std::string(adds ? "" : kCannotAdd);
  }

  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>& requests) override {
    // Replaces lanes that a failure left with work. free_retired() is the barrier after which all
    // ranks have done so.
    lanes(rank);
    rank.team.free_retired(rank);
    plans_->free_kept();
    return plans_->hand_out(rank, choose(rank, collective, buffers, requests),
                            name(collective.kind));
  }

 private:
  std::unique_ptr<CollectivePlan> choose(Rank& rank, const Collective& collective,
                                         const CollectiveBuffers& buffers,
                                         const std::vector<std::string>& requests) {
    const auto any = [&requests](std::string_view what) {
      return std::find(requests.begin(), requests.end(), what) != requests.end();
    };
    const bool any_swaps = any(kSwaps);
    const auto kernel = [&] { return kernel_plan(rank, collective, buffers); };
    if (kind_ == OwnEngineKind::kernel) return kernel();
    std::unique_ptr<CollectivePlan> plan;
    if (prefers_kernel(collective, rank.size) && !any_swaps) plan = if_reachable(kernel);
    if (plan) return plan;
    return reduces(collective.kind) ? reduction(rank, collective, buffers, !any(kCannotAdd))
                                    : move(rank, collective, buffers, any_swaps);
  }

  Watchdog& watchdog() { return plans_->watchdog(); }
  ScheduleSession parts(const Rank& rank) {
    return {watchdog(), &lanes(rank), &pool(rank), keeps_schedules_};
  }
  SideStreams& lanes(const Rank& rank) {
    return lanes_[static_cast<std::size_t>(rank.local)].after(watchdog().failures());
  }

  ScheduleMemoryPool& pool(const Rank& rank) {
    return pools_[static_cast<std::size_t>(rank.local)];
  }

  // By kernels that access the peers' buffers.
  std::unique_ptr<CollectivePlan> kernel_plan(Rank& rank, const Collective& collective,
                                              const CollectiveBuffers& buffers) {
    const std::uint64_t bytes = size_bytes(collective, rank.size);
    const bool relayed = collective.kind == CollectiveKind::broadcast && rank.size > 2 &&
                         bytes >= kRelayedBytes && links_.copying.in_order;
    if (!relayed) return plan_peer_kernels(rank, collective, buffers, parts(rank));
    return plan_relay(rank, collective, buffers, parts(rank),
                      best_relayed_piece(bytes, rank.size - 1));
  }

  // By copy engines into mapped receive buffers.
  std::unique_ptr<CollectivePlan> direct_pushes(Rank& rank, const Collective& collective,
                                                const CollectiveBuffers& buffers) {
    SideStreams& own = lanes(rank);
    std::vector<ByteRange> pieces;
    if (collective.kind == CollectiveKind::broadcast) {
      pieces = broadcast_pieces(size_bytes(collective, rank.size), rank.size, own.copying());
    }
    if (pieces.empty()) {
      return plan_direct_moves(rank, collective, buffers, parts(rank));
    }
    return plan_broadcast_pipeline(rank, collective, buffers, parts(rank), pieces);
  }

  std::unique_ptr<CollectivePlan> move(Rank& rank, const Collective& collective,
                                       const CollectiveBuffers& buffers, bool any_swaps) {
    std::unique_ptr<CollectivePlan> plan;
    if (!any_swaps) plan = if_reachable([&] { return direct_pushes(rank, collective, buffers); });
    if (plan) return plan;
    return plan_staged_moves(rank, moves(collective, rank.size), buffers, parts(rank));
  }

  // `adds`: all ranks want parts to be added where they arrive, and their devices and buffers allow
  // it.
  std::unique_ptr<CollectivePlan> reduction(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers, bool adds) {
    const bool half = collective.kind == CollectiveKind::all_reduce;
    const std::uint64_t bytes = size_bytes(collective, rank.size);
    bool out_of_step = false;
    std::unique_ptr<CollectivePlan> plan;
    if (adds) {
      out_of_step = rank.size > 2;
      plan = if_reachable([&] { return plan_additions(rank, collective, buffers, parts(rank)); });
    }
    if (plan == nullptr && half && bytes < kSlotsFrom) {
      plan = if_reachable(
          [&] { return plan_pulled_reduction(rank, collective, buffers, parts(rank)); });
    }
    if (plan == nullptr) {
      out_of_step = true;
      plan = plan_staged_reduction(rank, collective, buffers, parts(rank));
    }
    if (!half) return plan;
    return std::make_unique<SpreadPlan>(rank, collective, buffers, parts(rank), std::move(plan),
                                        out_of_step);
  }

  bool prefers_kernel(const Collective& collective, int ranks) const {
    return kind_ == OwnEngineKind::fastest &&
           size_bytes(collective, ranks) < thresholds_.dma_from(collective.kind);
  }

  OwnEngineKind kind_;
  bool keeps_schedules_ = false;
  TeamLinks links_;
  Thresholds thresholds_;
  std::shared_ptr<SessionPlans> plans_;
  // By local rank. Destroyed before the plans, whose work they may still have.
  std::vector<RankLanes> lanes_;
  std::vector<ScheduleMemoryPool> pools_;  // by local rank
};

}  // namespace

std::unique_ptr<CollectiveSession> open_peer_session(Team& team, OwnEngineKind kind) {
  return std::make_unique<PeerSession>(team, kind);
}

}  // namespace duet
