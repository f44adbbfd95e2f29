// A session: each local rank's lanes, and the watchdog over all of its plans.
#include "collectives/peer/engine.h"

#include <algorithm>

#include "collectives/peer/broadcast_plan.h"
#include "collectives/peer/broadcast_schedule.h"
#include "collectives/peer/kernel_plan.h"
#include "collectives/peer/move_plan.h"
#include "collectives/peer/pull_plan.h"
#include "collectives/peer/reduce_plan.h"
#include "collectives/peer/spread_plan.h"
#include "collectives/peer/thresholds.h"
#include "collectives/planning.h"

namespace duet {
namespace {

// Where all peers are behind one link, a second lane fills the pauses of the first; where each has
// a link of its own, each gets a lane.
constexpr int kLanesOfSharedLink = 2;

CopyLanes copy_lanes(Team& team) {
  Machine& machine = team.machine();
  const bool shared = team.local_size() > 1 ? machine
                                                  .link(team.device_index(team.first_local()),
                                                        team.device_index(team.first_local() + 1))
                                                  .shared
                                            : machine.device(0).info().kind != "hip";
  if (shared) return {kLanesOfSharedLink, true};
  return {std::max(1, team.size() - 1), false};
}

// From this size on an all_reduce's first half goes through slots. GB/s of a reduce_scatter's bus
// on 4 x H200 at 256 MiB, 1 GiB and 4 GiB: by slots 297, 345, 352, by a kernel that pulls 318, 326,
// 327.
constexpr std::uint64_t kSlotsFrom = 512 << 20;

enum class Way { dma, kernel, faster };

std::optional<Skipped> in_place_exchange(const Collective& collective, bool in_place) {
  if (!in_place || collective.kind != CollectiveKind::all_to_all) return std::nullopt;
  return Skipped{"in place it would overwrite what it has still to send"};
}

class OwnSession : public CollectiveSession {
 public:
  OwnSession(Team& team, Way way)
      : way_(way),
        thresholds_(way == Way::faster ? team_thresholds(team) : Thresholds{}),
        watchdog_(team) {
    const CopyLanes copying = copy_lanes(team);
    for (int local = 0; local < team.local_size(); ++local) {
      lanes_.push_back(std::make_unique<Lanes>(team.local_rank(local).device, copying));
    }
  }

  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    return in_place_exchange(collective, in_place);
  }

  std::unique_ptr<CollectivePlan> plan(Rank& rank, const Collective& collective,
                                       const CollectiveBuffers& buffers) override {
    check(collective, rank.size);
    agree(rank, collective, "");
    check_buffers(rank, collective, buffers);
    if (by_kernel(collective, rank.size)) {
      return std::make_unique<KernelPlan>(rank, collective, buffers, watchdog_);
    }
    Lanes& lanes = *lanes_[static_cast<std::size_t>(rank.local)];
    if (collective.kind == CollectiveKind::all_reduce) {
      return std::make_unique<SpreadPlan>(rank, collective, buffers, lanes, watchdog_,
                                          first_half(rank, collective, buffers));
    }
    if (reduces(collective.kind)) {
      return std::make_unique<ReducePlan>(rank, collective, buffers, lanes, watchdog_);
    }
    if (collective.kind == CollectiveKind::broadcast) {
      const std::vector<PieceOf> pieces =
          broadcast_pieces(size_bytes(collective, rank.size), rank.size, lanes.copying());
      if (!pieces.empty()) {
        return std::make_unique<BroadcastPlan>(rank, collective, buffers, lanes, watchdog_, pieces);
      }
    }
    return std::make_unique<MovePlan>(rank, collective, buffers, lanes, watchdog_);
  }

 private:
  // Of an all_reduce.
  std::unique_ptr<CollectivePlan> first_half(Rank& rank, const Collective& collective,
                                             const CollectiveBuffers& buffers) {
    if (size_bytes(collective, rank.size) < kSlotsFrom) {
      return std::make_unique<PullPlan>(rank, collective, buffers, watchdog_);
    }
    Lanes& lanes = *lanes_[static_cast<std::size_t>(rank.local)];
    return std::make_unique<ReducePlan>(rank, collective, buffers, lanes, watchdog_);
  }

  bool by_kernel(const Collective& collective, int ranks) const {
    if (way_ != Way::faster) return way_ == Way::kernel;
    return size_bytes(collective, ranks) < thresholds_.dma_from(collective.kind);
  }

  Way way_;
  Thresholds thresholds_;
  std::vector<std::unique_ptr<Lanes>> lanes_;  // by local rank
  Watchdog watchdog_;
};

class OwnEngine : public CollectiveEngine {
 public:
  OwnEngine(std::string name, Way way) : name_(std::move(name)), way_(way) {}
  std::string name() const override { return name_; }
  std::string device_kind() const override { return ""; }
  void check_settings(Team& team) const override {
    if (way_ == Way::faster) team_thresholds(team);
  }
  std::unique_ptr<CollectiveSession> open(Team& team) override {
    return std::make_unique<OwnSession>(team, way_);
  }

 private:
  std::string name_;
  Way way_;
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_dma_collectives() {
  return std::make_unique<OwnEngine>("dma", Way::dma);
}

std::unique_ptr<CollectiveEngine> make_kernel_collectives() {
  return std::make_unique<OwnEngine>("kernel", Way::kernel);
}

std::unique_ptr<CollectiveEngine> make_auto_collectives() {
  return std::make_unique<OwnEngine>("auto", Way::faster);
}

}  // namespace duet
