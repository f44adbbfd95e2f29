// A session: each local rank's lanes, and the watchdog over all of its plans.
#include "collectives/dma/engine.h"

#include <algorithm>

#include "collectives/dma/move_plan.h"
#include "collectives/planning.h"

namespace duet {
namespace {

// Where all peers are behind one link, a second lane fills the pauses of the first; where each has
// a link of its own, each gets a lane.
constexpr int kLanesOfSharedLink = 2;

int copy_lanes(Team& team) {
  Machine& machine = team.machine();
  const bool shared = team.local_size() > 1 ? machine
                                                  .link(team.device_index(team.first_local()),
                                                        team.device_index(team.first_local() + 1))
                                                  .shared
                                            : machine.device(0).info().kind != "hip";
  return shared ? kLanesOfSharedLink : std::max(1, team.size() - 1);
}

class DmaSession : public CollectiveSession {
 public:
  explicit DmaSession(Team& team) : copy_lanes_(copy_lanes(team)), watchdog_(team) {
    for (int local = 0; local < team.local_size(); ++local) {
      lanes_.push_back(std::make_unique<Lanes>(team.local_rank(local).device, copy_lanes_));
    }
  }

  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    if (reduces(collective.kind)) return Skipped{"copy engines do not reduce"};
    if (in_place && collective.kind == CollectiveKind::all_to_all) {
      return Skipped{"in place it would overwrite what it has still to send"};
    }
    return std::nullopt;
  }

  std::unique_ptr<CollectivePlan> plan(Rank& rank, const Collective& collective,
                                       const CollectiveBuffers& buffers) override {
    check(collective, rank.size);
    agree(rank, collective, "");
    check_buffers(rank, collective, buffers);
    return std::make_unique<MovePlan>(rank, collective, buffers,
                                      *lanes_[static_cast<std::size_t>(rank.local)], copy_lanes_,
                                      watchdog_);
  }

 private:
  int copy_lanes_;
  std::vector<std::unique_ptr<Lanes>> lanes_;  // by local rank
  Watchdog watchdog_;
};

class DmaEngine : public CollectiveEngine {
 public:
  std::string name() const override { return "dma"; }
  std::string device_kind() const override { return ""; }
  std::unique_ptr<CollectiveSession> open(Team& team) override {
    return std::make_unique<DmaSession>(team);
  }
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_dma_collectives() { return std::make_unique<DmaEngine>(); }

}  // namespace duet
