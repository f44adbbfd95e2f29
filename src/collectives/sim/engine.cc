// The model of a call is a kernel on all ranks. The platform gives its compute units, its latency
// and the share of the links that it can use. The kernel really moves and reduces the data, and it
// shares links, memory and compute units with all other simulated work.
#include "collectives/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "collectives/own_engines.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/schedule_plan.h"
#include "device/sim/sim.h"

namespace duet {
namespace {

// Kinds that RCCL and NCCL run by sends and receives between pairs, which have their own kernel.
bool by_pairs(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::all_to_all_v ||
         kind == CollectiveKind::gather || kind == CollectiveKind::scatter ||
         kind == CollectiveKind::send_recv || kind == CollectiveKind::neighbor_exchange;
}

sim::NodeAlgorithm node_algorithm(CollectiveKind kind) {
  if (by_pairs(kind)) return sim::NodeAlgorithm::direct;
  return kind == CollectiveKind::all_reduce ? sim::NodeAlgorithm::tree : sim::NodeAlgorithm::ring;
}

// Hands out the barrier counters of a team's kernels. All ranks prepare kernels in the same order:
// the first rank that prepares a kernel allocates its counter, and the last one removes the counter
// from the map.
class BarrierCounters {
 public:
  explicit BarrierCounters(int ranks) : prepared_(static_cast<std::size_t>(ranks), 0) {}

  sim::BarrierCounter next(const Rank& rank) {
    const int ranks = static_cast<int>(prepared_.size());
    const std::size_t number = prepared_[static_cast<std::size_t>(rank.index)]++;
    Open& open = open_[number];
    if (open.taken++ == 0) open.count = std::make_shared<Buffer>(zeroed_semaphores(rank.device, 1));
    sim::BarrierCounter counter{open.count, ranks};
    if (open.taken == ranks) open_.erase(number);
    return counter;
  }

 private:
  struct Open {
    std::shared_ptr<Buffer> count;
    int taken = 0;
  };
  std::vector<std::size_t> prepared_;  // number of prepared kernels, by rank
  std::map<std::size_t, Open> open_;   // counters that some ranks have yet to take, by number
};

// `most`: upper limit of the kernel's compute units; 0: as many as the platform states.
std::unique_ptr<CollectivePlan> plan_model(Rank& rank, const Collective& collective,
                                           const CollectiveBuffers& buffers, Watchdog& watchdog,
                                           int most, BarrierCounters& counters) {
  const sim::LibraryModel& library = sim::library_of(rank.device);
  const sim::LibraryKernel& kernel =
      by_pairs(collective.kind) ? library.all_to_all : library.all_gather;
  const int units = most > 0 ? std::min(most, kernel.units) : kernel.units;
  AlgorithmInput input{collective, rank.index, rank.size, {}};
  input.in_place = in_place(buffers);
  input.blocks = units;
  RankSchedule schedule = peer_kernels().schedule(input);
  schedule.semaphores.clear();  // prepare_as_library() synchronises the ranks
  schedule.algorithm = fmt::format("model of {}: {}", library.name, schedule.algorithm);
  const auto prepare = [&rank, &kernel, &counters, algorithm = node_algorithm(collective.kind)](
                           Device& on, const PeerKernel& peers) {
    return sim::prepare_as_library(on, peers, kernel, algorithm, counters.next(rank));
  };
  return std::make_unique<SchedulePlan>(
      rank, schedule, buffers, ScheduleSession{watchdog, nullptr, nullptr, false, prepare});
}

class ModelledSession : public CollectiveSession {
 public:
  ModelledSession(Team& team, int most) : watchdog_(team), counters_(team.size()), most_(most) {}

  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    if (!in_place || collective.kind != CollectiveKind::all_to_all) return std::nullopt;
    return Skipped{"in place it would overwrite what it has still to send"};
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    return plan_model(rank, collective, buffers, watchdog_, most_, counters_);
  }

 private:
  Watchdog watchdog_;
  BarrierCounters counters_;
  int most_;
};

class VendorModel : public CollectiveEngine {
 public:
  explicit VendorModel(int most = 0) : most_(most) {}

  std::string name() const override {
    return most_ > 0 ? fmt::format("vendor-model-{}cu", most_) : "vendor-model";
  }
  std::string device_kind() const override { return "sim"; }
  std::unique_ptr<CollectiveEngine> limited(int units) const override {
    return std::make_unique<VendorModel>(units);
  }
  std::unique_ptr<CollectiveSession> open(Team& team) override {
    return std::make_unique<ModelledSession>(team, most_);
  }
  bool opens_for_groups() const override { return true; }

 private:
  int most_;
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_vendor_model_collectives() {
  return std::make_unique<VendorModel>();
}

}  // namespace duet
