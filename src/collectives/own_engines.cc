#include "collectives/own_engines.h"

#include <utility>

#include "collectives/own_sessions.h"
#include "collectives/peer/call_facts.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/tuning/thresholds.h"
#include "team/nodes.h"
#include "team/peer_memory.h"

namespace duet {
namespace {

// Throws Unavailable, on all ranks, where a device has no engine for copies to another one.
void require_sdma(Team& team) {
  if (NodeMap::of(team).nodes() > 1) throw Unavailable("sdma: expected ranks of one node");
  team.each([](Rank& rank) {
    const OfferedMemory words(
        rank, [&rank] { return rank.device.allocate(sizeof(std::uint64_t)); },
        "the other ranks' words");
    rank.team.all_or_none(rank, "all ranks to find engines for their copies", [&] {
      for (int peer = 0; peer < rank.size; ++peer) {
        if (peer == rank.index) continue;
        rank.device.copy_engine({words.at(peer), words.at(rank.index), Executor::sdma, {}});
      }
    });
  });
}

class OwnEngine : public CollectiveEngine {
 public:
  OwnEngine(std::string name, OwnEngineKind kind) : name_(std::move(name)), kind_(kind) {}
  std::string name() const override { return name_; }
  std::string device_kind() const override { return kind_ == OwnEngineKind::sdma ? "hip" : ""; }
  void check_settings(Team& team) const override {
    chosen_reductions();
    chosen_algorithm();
    if (kind_ == OwnEngineKind::fastest) team_thresholds(team);
  }
  std::unique_ptr<CollectiveSession> open(Team& team) override {
    if (kind_ == OwnEngineKind::sdma) require_sdma(team);
    NodeMap nodes = NodeMap::of(team);
    if (nodes.nodes() > 1) return open_nodes_session(team, kind_, std::move(nodes));
    return open_peer_session(team, kind_);
  }
  bool opens_for_groups() const override { return kind_ != OwnEngineKind::sdma; }

 private:
  std::string name_;
  OwnEngineKind kind_;
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_dma_collectives() {
  return std::make_unique<OwnEngine>("dma", OwnEngineKind::dma);
}

std::unique_ptr<CollectiveEngine> make_sdma_collectives() {
  return std::make_unique<OwnEngine>("sdma", OwnEngineKind::sdma);
}

std::unique_ptr<CollectiveEngine> make_kernel_collectives() {
  return std::make_unique<OwnEngine>("kernel", OwnEngineKind::kernel);
}

std::unique_ptr<CollectiveEngine> make_auto_collectives() {
  return std::make_unique<OwnEngine>("auto", OwnEngineKind::fastest);
}

}  // namespace duet
