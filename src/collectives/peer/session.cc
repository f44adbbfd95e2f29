#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/own_sessions.h"
#include "collectives/partition.h"
#include "collectives/peer/call_facts.h"
#include "collectives/peer/halves_plan.h"
#include "collectives/schedule/algorithms/broadcast_pieces.h"
#include "collectives/schedule/schedule_plan.h"
#include "collectives/session/lanes.h"
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

  std::vector<std::string> take_warnings() override {
    if (not_chosen_.empty()) return {};
    return {std::exchange(not_chosen_, "")};
  }

  void share_staging(const Rank& rank, bool on) override { pool(rank).share(on); }

  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) override {
    return std::make_unique<SessionMemory>(plans_, rank.device.allocate(bytes));
  }

 protected:
  std::string request(const Rank& rank, const Collective& collective,
                      const CollectiveBuffers& buffers) override {
    const bool wants = wants_to_add(collective, rank.size, pool(rank).shares());
    return call_facts(rank, collective, buffers, wants).text();
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
  // In the order in which they are tried, where some rank cannot map what one accesses.
  using Tries = std::vector<Algorithm>;

  std::unique_ptr<CollectivePlan> choose(Rank& rank, const Collective& collective,
                                         const CollectiveBuffers& buffers,
                                         const std::vector<std::string>& requests) {
    const std::vector<CallFacts> facts = CallFacts::of_all(requests);
    AlgorithmInput input = algorithm_input(rank, collective, buffers, links_.copying, facts);
    const bool adds = std::all_of(facts.begin(), facts.end(),
                                  [](const CallFacts& each) { return each.wants_to_add; });
    std::string why_not;
    const Algorithm* const chosen = chosen_algorithm(input, why_not);
    if (!why_not.empty() && rank.local == 0) not_chosen_ = std::move(why_not);
    if (collective.kind == CollectiveKind::neighbor_exchange && chosen == nullptr) {
      input.kernel_moves = kind_ == OwnEngineKind::kernel || prefers_kernel(input);
      return plan(rank, input, buffers, with_neighbors(input));
    }
    if (in_ranges(collective) && chosen == nullptr && kind_ != OwnEngineKind::kernel) {
      // Kernels of compute units would hold what the multiplication needs.
      auto rows = if_reachable([&] { return plan(rank, input, buffers, {by_rows(input)}); });
      if (rows != nullptr) return rows;
    }
    const bool halves = collective.kind == CollectiveKind::all_reduce;
    const auto whole = [&](const Tries& tries) { return plan(rank, input, buffers, tries); };
    if (chosen != nullptr && (chosen->half == Half::none || !halves)) return whole({*chosen});
    if (kind_ == OwnEngineKind::kernel && chosen == nullptr) return whole({by_kernels(input)});
    const bool by_kernel = prefers_kernel(input) && chosen == nullptr;
    if (!halves) {
      Tries tries = reduces(collective.kind) ? reductions(input, adds) : moving(input);
      if (by_kernel) tries.insert(tries.begin(), by_kernels(input));
      return whole(tries);
    }
    if (by_kernel) {
      if (auto all = if_reachable([&] { return whole({by_kernels(input)}); })) return all;
    }
    const bool is_first = chosen != nullptr && chosen->half == Half::first;
    const bool is_second = chosen != nullptr && chosen->half == Half::second;
    return plan_halves(rank, input, buffers, is_first ? Tries{*chosen} : reductions(input, adds),
                       is_second ? Tries{*chosen} : Tries{spread(), staged_spread()});
  }

  // nullptr where the plan needs memory that some rank cannot reach (no mapping, no peer access);
  // the same on all ranks.
  template <class Make>
  static std::unique_ptr<CollectivePlan> if_reachable(const Make& make) try {
    return make();
  } catch (const Unreachable&) {
    return nullptr;
  }

  std::unique_ptr<CollectivePlan> plan(Rank& rank, const AlgorithmInput& input,
                                       const CollectiveBuffers& buffers, const Tries& tries) {
    const auto make = [&](const Algorithm& algorithm) {
      return std::make_unique<SchedulePlan>(rank, algorithm.schedule(input), buffers, parts(rank));
    };
    for (std::size_t i = 0; i + 1 < tries.size(); ++i) {
      if (auto plan = if_reachable([&] { return make(tries[i]); })) return plan;
    }
    return make(tries.back());
  }

  // All ranks take the same tries, and so the same first half.
  std::unique_ptr<CollectivePlan> plan_halves(Rank& rank, AlgorithmInput input,
                                              const CollectiveBuffers& buffers, const Tries& firsts,
                                              const Tries& seconds) {
    std::unique_ptr<CollectivePlan> first;
    for (std::size_t i = 0; first == nullptr; ++i) {
      const auto make = [&] { return plan(rank, input, buffers, {firsts[i]}); };
      first = i + 1 < firsts.size() ? if_reachable(make) : make();
      input.out_of_step = input.ranks > firsts[i].most_in_step;
    }
    auto second = plan(rank, input, {buffers.recv, buffers.recv}, seconds);
    return std::make_unique<HalvesPlan>(std::move(first), std::move(second));
  }

  // One kernel keeps all ranks together, which calls that alternate do without.
  Tries with_neighbors(const AlgorithmInput& input) const {
    const bool pushes = !input.kernel_moves || input.collective.neighbors.alternating;
    Tries tries{pushes ? neighbor_pushes() : by_kernels(input)};
    if (kind_ != OwnEngineKind::kernel) tries.push_back(staged_moves());
    return tries;
  }

  static Algorithm by_rows(const AlgorithmInput& input) {
    if (!reduces(input.collective.kind)) return row_gather();
    return input.collective.rows.sums == RowSums::by_compute ? row_ring() : row_slots();
  }

  Algorithm by_kernels(const AlgorithmInput& input) const {
    const bool relayed = input.collective.kind == CollectiveKind::broadcast && input.ranks > 2 &&
                         size_bytes(input.collective, input.ranks) >= kRelayedBytes &&
                         links_.copying.in_order;
    return relayed ? relay() : peer_kernels();
  }

  // By copy engines into mapped receive buffers, else through slots.
  Tries moving(const AlgorithmInput& input) const {
    if (input.any_swaps) return {staged_moves()};
    const std::uint64_t bytes = size_bytes(input.collective, input.ranks);
    const bool in_pieces = input.collective.kind == CollectiveKind::broadcast &&
                           !broadcast_pieces(bytes, input.ranks, input.copying).empty();
    return {in_pieces ? broadcast_pipeline() : direct_moves(), staged_moves()};
  }

  // A reduce_scatter, or the first half of an all_reduce. `adds`: all ranks want additions in
  // flight.
  Tries reductions(const AlgorithmInput& input, bool adds) const {
    const bool pulls = input.collective.kind == CollectiveKind::all_reduce &&
                       size_bytes(input.collective, input.ranks) < kSlotsFrom;
    Tries tries;
    if (adds && additions().fits(input)) tries.push_back(additions());
    if (pulls) tries.push_back(pulled_reduction());
    tries.push_back(staged_reduction());
    return tries;
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

  bool prefers_kernel(const AlgorithmInput& input) const {
    return kind_ == OwnEngineKind::fastest && !input.any_swaps &&
           size_bytes(input.collective, input.ranks) < thresholds_.dma_from(input.collective.kind);
  }

  OwnEngineKind kind_;
  bool keeps_schedules_ = false;
  std::string not_chosen_;  // why the chosen algorithm was not taken, by local rank 0
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
