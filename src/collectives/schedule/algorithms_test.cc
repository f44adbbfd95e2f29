// Every algorithm, proved for many ranks, sizes and options; and nothing in its schedule that is
// not needed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/copy_order.h"
#include "collectives/schedule/algorithms/kernel_items.h"
#include "collectives/schedule/algorithms/staging_slots.h"
#include "collectives/schedule/packet_steps.h"
#include "collectives/schedule/removals_fixture.h"
#include "collectives/schedule/step_order.h"
#include "collectives/uneven_counts_fixture.h"

namespace duet {
namespace {

Collective call_of(CollectiveKind kind, std::uint64_t count, int ranks, int root = 0) {
  Collective c{kind, DType::int8, Reduction::sum, count, root, {}};
  if (kind == CollectiveKind::all_to_all_v) c.counts = uneven_counts(count, ranks);
  return c;
}

std::vector<CollectiveKind> kinds_that_move() {
  std::vector<CollectiveKind> kinds;
  for (const CollectiveKind kind : all_collectives()) {
    if (!reduces(kind)) kinds.push_back(kind);
  }
  return kinds;
}

enum class Places { apart, in_place, mixed };  // mixed: in place on every other rank

AlgorithmInput input_of(const Collective& collective, int ranks, CopyLanes copying,
                        std::uint64_t largest_piece = 0) {
  AlgorithmInput input{collective, 0, ranks, copying};
  input.largest_piece = largest_piece;
  return input;
}

// All ranks' schedules by the algorithm, or by its two halves.
CollectiveSchedule schedules(AlgorithmInput input, const std::vector<Algorithm>& parts,
                             Places places = Places::apart) {
  CollectiveSchedule all{input.collective, {}, {}};
  for (input.rank = 0; input.rank < input.ranks; ++input.rank) {
    const bool has_both = send_bytes(input.collective, input.rank, input.ranks) > 0 &&
                          recv_bytes(input.collective, input.rank, input.ranks) > 0;
    input.in_place = has_both && (places == Places::in_place ||
                                  (places == Places::mixed && input.rank % 2 == 0));
    all.in_place.push_back(input.in_place);
    RankSchedule schedule = parts.front().schedule(input);
    for (std::size_t part = 1; part < parts.size(); ++part) {
      schedule = in_a_row(std::move(schedule), parts[part].schedule(input));
    }
    all.ranks.push_back(std::move(schedule));
  }
  return all;
}

// An algorithm of the list, with another half where it is one; empty: it does not fit.
std::vector<Algorithm> whole_of(const Algorithm& algorithm, const AlgorithmInput& input) {
  if (!fits(algorithm, input)) return {};
  const bool reduces_all = input.collective.kind == CollectiveKind::all_reduce;
  const bool over_nodes = input.nodes != nullptr;
  const bool in_halves =
      reduces_all || (over_nodes && input.collective.kind == CollectiveKind::broadcast);
  if (!in_halves || algorithm.half == Half::none) return {algorithm};
  if (algorithm.half == Half::first) return {algorithm, over_nodes ? nodes_gather() : spread()};
  if (!over_nodes) return {staged_reduction(), algorithm};
  return {reduces_all ? nodes_reduction() : nodes_spread(), algorithm};
}

void expect_right(const Algorithm& algorithm, AlgorithmInput input, Places places) {
  const CollectiveKind kind = input.collective.kind;
  if (places != Places::apart && !has_in_place(kind)) return;
  input.any_swaps = places != Places::apart && kind == CollectiveKind::all_to_all;
  const std::vector<Algorithm> parts = whole_of(algorithm, input);
  if (parts.empty()) return;
  ASSERT_EQ(fault_of(schedules(input, parts, places)), "")
      << algorithm.name << ": " << name(kind) << " of " << input.collective.count << ", "
      << input.ranks << " ranks, " << input.copying.count << " lanes, pieces of "
      << input.largest_piece;
}

using Lanes = std::vector<CopyLanes>;

// One of a sweep's calls. `size`: of pieces, or from which a local copy is deferred.
struct Swept {
  int ranks;
  CollectiveKind kind;
  std::uint64_t count;
  CopyLanes lanes;
  std::uint64_t size;
  Places places;

  Collective call(int root = 0) const { return call_of(kind, count, ranks, root); }
};

// Calls with every combination of what is listed.
struct Sweep {
  std::vector<int> ranks;
  std::vector<CollectiveKind> kinds;
  std::vector<std::uint64_t> counts;
  std::function<Lanes(int ranks)> lanes = [](int) { return Lanes(1); };
  std::vector<Places> places = {Places::apart};
  std::vector<std::uint64_t> sizes = {0};
  bool swaps = false;  // all_to_all in place too
  std::uint64_t most_of_many = std::numeric_limits<std::uint64_t>::max();  // of more than 8 ranks
};

const std::vector<Places> kApartOrNot = {Places::apart, Places::in_place};
const std::vector<Places> kAllPlaces = {Places::apart, Places::in_place, Places::mixed};

std::vector<int> up_to_17_from(int first) {
  std::vector<int> ranks(static_cast<std::size_t>(18 - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

// Lanes in order; and with `or_own`, as many as ranks that are not.
std::function<Lanes(int)> in_order(const std::vector<int>& counts, bool or_own = false) {
  return [counts, or_own](int ranks) {
    Lanes lanes;
    for (const int count : counts) lanes.push_back({count, true});
    if (or_own) lanes.push_back({ranks, false});
    return lanes;
  };
}

void expect_none(const Sweep& all, const std::function<std::string(const Swept&)>& fault) {
  for (const int ranks : all.ranks) {
    for (const CollectiveKind kind : all.kinds) {
      const bool has_places =
          has_in_place(kind) && (kind != CollectiveKind::all_to_all || all.swaps);
      for (const std::uint64_t count : all.counts) {
        if (ranks > 8 && count > all.most_of_many) continue;
        for (const CopyLanes lanes : all.lanes(ranks)) {
          for (const std::uint64_t size : all.sizes) {
            for (const Places places : all.places) {
              if (places != Places::apart && !has_places) continue;
              ASSERT_EQ(fault({ranks, kind, count, lanes, size, places}), "")
                  << name(kind) << " of " << count << ", " << ranks << " ranks, " << lanes.count
                  << " lanes, size " << size;
            }
          }
        }
      }
    }
  }
}

using Make = std::function<CollectiveSchedule(const Swept&)>;

void expect_right(const Sweep& all, const Make& make) {
  expect_none(all, [&](const Swept& each) { return fault_of(make(each)); });
}

// Each wait, signal, edge and barrier is needed.
void expect_needed(const Sweep& all, const Make& make) {
  expect_none(all, [&](const Swept& each) {
    return fmt::format("{}", fmt::join(unnoticed_removals(make(each)), ", "));
  });
}

// What is in the list is proved, without a test of its own: behind a switch and with a link for
// each peer, in one piece, in as many as the algorithm chooses, and in small ones.
TEST(Algorithms, AreRightWhereTheyFit) {
  const NodeMap two_nodes({{0, 1}, {2, 3}});
  for (const Algorithm& algorithm : all_algorithms()) {
    for (const int ranks : {1, 2, 3, 4, 7, 8}) {
      for (const CollectiveKind kind : all_collectives()) {
        for (const std::uint64_t count : {0, 5, 64, 1403, 400001}) {
          for (const CopyLanes lanes : {CopyLanes{2, true}, CopyLanes{ranks, false}}) {
            for (const std::uint64_t piece : {0, 1 << 16}) {
              if (ranks > 4 && count > 1403) continue;
              const Collective c = call_of(kind, count, ranks, ranks / 2);
              for (const Places places : {Places::apart, Places::in_place, Places::mixed}) {
                AlgorithmInput input = input_of(c, ranks, lanes, piece);
                if (algorithm.over_nodes && ranks == two_nodes.size()) input.nodes = &two_nodes;
                expect_right(algorithm, input, places);
              }
            }
          }
        }
      }
    }
  }
}

// Also where the model of its time prefers pushes from the root.
TEST(BroadcastPipeline, MovesSmallBuffersToo) {
  const Collective c = call_of(CollectiveKind::broadcast, 100, 4);
  EXPECT_EQ(fault_of(schedules(input_of(c, 4, {2, true}), {broadcast_pipeline()})), "");
}

CollectiveSchedule moves_of(const Collective& collective, int ranks, CopyLanes copying,
                            std::uint64_t defer_bytes = 0, Places places = Places::apart) {
  AlgorithmInput input = input_of(collective, ranks, copying);
  input.defer_bytes = defer_bytes;
  return schedules(input, {direct_moves()}, places);
}

TEST(DirectMoves, AreRightForEveryKindAndNumberOfRanks) {
  const auto lanes = [](int) { return Lanes{{1, true}, {2, true}, {3, false}, {16, false}}; };
  expect_right({up_to_17_from(1), kinds_that_move(), {37}, lanes},
               [](const Swept& s) { return moves_of(s.call(s.ranks / 2), s.ranks, s.lanes); });
}

TEST(DirectMoves, AreRightInPlaceAndForEverySize) {
  expect_right({{2, 3, 5},
                kinds_that_move(),
                {0, 1, 1000, 4097},
                in_order({2}),
                kAllPlaces,
                {1, 1000, 5000, 1 << 20}},
               [](const Swept& s) {
                 return moves_of(s.call(s.ranks - 1), s.ranks, s.lanes, s.size, s.places);
               });
}

TEST(DirectMoves, NeedEveryWaitSignalAndEdge) {
  expect_needed(
      {{2, 3, 4}, kinds_that_move(), {64}, in_order({1, 2}), {Places::apart}, {1, 1 << 20}},
      [](const Swept& s) { return moves_of(s.call(1), s.ranks, s.lanes, s.size); });
}

// Two plans of a session share its lanes.
TEST(DirectMoves, OfTwoPlansMix) {
  for (const int ranks : {2, 3, 4}) {
    for (const CollectiveKind first : kinds_that_move()) {
      for (const CollectiveKind second : kinds_that_move()) {
        const auto a = moves_of(call_of(first, 64, ranks), ranks, {2, true}, 100);
        const auto b = moves_of(call_of(second, 200, ranks, 1), ranks, {2, true}, 100);
        EXPECT_EQ(fault_of(CheckedCalls{{&a, &b, &a, &b}, false}), "")
            << name(first) << " and " << name(second) << ", " << ranks << " ranks";
      }
    }
  }
}

CollectiveSchedule staged(const Collective& collective, int ranks, CopyLanes copying,
                          Places places = Places::apart) {
  return schedules(input_of(collective, ranks, copying, 1 << 16), {staged_moves()}, places);
}

// Sizes of up to 24 pieces, with turns from 5 on.
TEST(StagedMoves, AreRightForEveryKindAndNumberOfRanks) {
  Sweep all{up_to_17_from(1), kinds_that_move(), {0, 1, 150001, 24 << 16}, in_order({1, 2}, true)};
  all.most_of_many = 150001;
  expect_right(all, [](const Swept& s) { return staged(s.call(s.ranks / 2), s.ranks, s.lanes); });
}

TEST(StagedMoves, AreRightInPlace) {
  Sweep all{{2, 3, 5},
            {CollectiveKind::all_to_all, CollectiveKind::all_gather},
            {1, 150001, 400000},
            in_order({2, 3}, true),
            {Places::in_place, Places::mixed}};
  all.swaps = true;
  expect_right(all, [](const Swept& s) { return staged(s.call(), s.ranks, s.lanes, s.places); });
}

TEST(StagedMoves, NeedEveryWaitSignalAndEdge) {
  expect_needed({{2, 3, 4},
                 {CollectiveKind::all_gather, CollectiveKind::all_to_all},
                 {1, 150001, 400000},
                 in_order({2, 3}, true)},
                [](const Swept& s) { return staged(s.call(), s.ranks, s.lanes); });
}

CollectiveSchedule broadcast_of(const Swept& s, int root) {
  return schedules(input_of(s.call(root), s.ranks, s.lanes, s.size), {broadcast_pipeline()},
                   s.places);
}

TEST(BroadcastPipeline, IsRightForEveryNumberOfRanksAndPieces) {
  const auto lanes = [](int ranks) { return Lanes{{1, true}, {2, true}, {ranks - 1, false}}; };
  expect_right({up_to_17_from(3),
                {CollectiveKind::broadcast},
                {100},
                lanes,
                kApartOrNot,
                {100, 60, 30, 10, 4}},
               [](const Swept& s) { return broadcast_of(s, s.ranks / 2); });
  expect_right({{3}, {CollectiveKind::broadcast}, {0}, in_order({2}), {Places::apart}, {1}},
               [](const Swept& s) { return broadcast_of(s, 0); });
  const Collective one = call_of(CollectiveKind::broadcast, 1, 2);
  EXPECT_FALSE(broadcast_pipeline().fits(input_of(one, 2, {2, true})));
}

TEST(BroadcastPipeline, NeedsEveryWaitSignalAndEdge) {
  const auto lanes = [](int ranks) { return Lanes{{2, true}, {ranks - 1, false}}; };
  expect_needed(
      {{3, 4, 5}, {CollectiveKind::broadcast}, {100}, lanes, {Places::apart}, {100, 50, 15}},
      [](const Swept& s) { return broadcast_of(s, 1); });
}

CollectiveSchedule reduction_of(std::uint64_t bytes, int ranks, CopyLanes copying,
                                Places places = Places::apart) {
  AlgorithmInput input =
      input_of(call_of(CollectiveKind::reduce_scatter, bytes, ranks), ranks, copying, 1 << 16);
  for (int rank = 0; rank < ranks; ++rank) input.shifts.push_back(rank % 2 == 0 ? 0 : 4);
  return schedules(input, {staged_reduction()}, places);
}

TEST(StagedReduction, IsRightForEveryNumberOfRanksAndSize) {
  Sweep all{up_to_17_from(1),
            {CollectiveKind::reduce_scatter},
            {0, 4, 150000, 24 << 16},
            in_order({1, 2, 3}, true),
            kApartOrNot};
  all.most_of_many = 150000;
  expect_right(all,
               [](const Swept& s) { return reduction_of(s.count, s.ranks, s.lanes, s.places); });
}

TEST(StagedReduction, NeedsEveryWaitSignalAndEdge) {
  expect_needed(
      {{2, 3, 4}, {CollectiveKind::reduce_scatter}, {4, 150000, 400000}, in_order({2, 3}, true)},
      [](const Swept& s) { return reduction_of(s.count, s.ranks, s.lanes); });
}

// Plans of equal sizes on one caller's stream.
TEST(StagedReduction, OfTwoPlansThatShareSlots) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::uint64_t bytes : {4, 150000, 400000}) {
      const auto a = reduction_of(bytes, ranks, {2, true});
      const auto b = reduction_of(bytes, ranks, {2, true}, Places::in_place);
      EXPECT_EQ(fault_of(CheckedCalls{{&a, &b, &b, &a}, true}), "")
          << bytes << " bytes, " << ranks << " ranks";
    }
  }
}

CollectiveSchedule additions_of(const Swept& s) {
  AlgorithmInput input = input_of(s.call(), s.ranks, s.lanes, 1 << 16);
  input.collective.dtype = DType::int32;
  input.out_of_step = s.ranks > 2;
  return schedules(input, whole_of(additions(), input), s.places);
}

TEST(Additions, AreRightForEveryNumberOfRanksAndSize) {
  expect_right({up_to_17_from(2),
                {CollectiveKind::reduce_scatter, CollectiveKind::all_reduce},
                {0, 1, 3, 1403, 30001},
                in_order({1, 2}, true),
                kAllPlaces},
               additions_of);
  const Collective one = call_of(CollectiveKind::reduce_scatter, 1, 1);
  EXPECT_FALSE(additions().fits(input_of(one, 1, {2, true})));
}

TEST(Additions, NeedEveryWaitSignalAndEdge) {
  expect_needed({{2, 3, 4}, {CollectiveKind::reduce_scatter}, {1, 1403, 40001}, in_order({1, 2})},
                additions_of);
}

// In two halves: reduced through slots, then spread by pushes.
AlgorithmInput all_reduce_input(std::uint64_t count, int ranks, CopyLanes copying) {
  AlgorithmInput input =
      input_of(call_of(CollectiveKind::all_reduce, count, ranks), ranks, copying, 1 << 16);
  input.collective.dtype = DType::int32;
  input.out_of_step = true;
  return input;
}

// With few elements some ranks have no part.
TEST(AllReduce, IsRightForEveryNumberOfRanksAndSize) {
  expect_right({up_to_17_from(1),
                {CollectiveKind::all_reduce},
                {0, 1, 3, 1403, 90001},
                in_order({1, 2, 3}, true),
                kAllPlaces},
               [](const Swept& s) {
                 return schedules(all_reduce_input(s.count, s.ranks, s.lanes),
                                  {staged_reduction(), spread()}, s.places);
               });
}

TEST(AllReduce, ItsSecondHalfNeedsEveryWaitSignalAndEdge) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::uint64_t count : {2, 1403, 90001}) {
      // Lanes that have nothing to push are for speed.
      for (const CopyLanes copying :
           {CopyLanes{std::min(2, ranks - 1), true}, CopyLanes{ranks - 1, false}}) {
        AlgorithmInput input = all_reduce_input(count, ranks, copying);
        const CollectiveSchedule whole = schedules(input, {staged_reduction(), spread()});
        std::vector<std::size_t> first_steps;
        for (input.rank = 0; input.rank < ranks; ++input.rank) {
          first_steps.push_back(staged_reduction().schedule(input).steps.size());
        }
        EXPECT_EQ(Removals(whole, StagingSlots::kGroups, first_steps).unnoticed(),
                  std::vector<std::string>{})
            << count << " elements, " << ranks << " ranks, " << copying.count << " lanes";
      }
    }
  }
}

CollectiveSchedule kernels_of(const Collective& collective, int ranks,
                              Places places = Places::apart) {
  return schedules(input_of(collective, ranks, {}), {peer_kernels()}, places);
}

// Sizes without and with packets, and from 2 MiB and 32 MiB on in two kernels.
TEST(PeerKernels, AreRightForEveryKindAndNumberOfRanks) {
  Sweep all{up_to_17_from(1), all_collectives(), {0, 1, 64, 1403, 40 << 20}};
  all.places = kAllPlaces;
  expect_right(all,
               [](const Swept& s) { return kernels_of(s.call(s.ranks / 2), s.ranks, s.places); });
}

TEST(PeerKernels, NeedEveryBarrier) {
  expect_needed({{2, 3, 4}, all_collectives(), {63, 40 << 20}},
                [](const Swept& s) { return kernels_of(s.call(), s.ranks); });
}

TEST(PeerKernels, OfTwoPlansMix) {
  const auto a = kernels_of(call_of(CollectiveKind::all_reduce, 40 << 20, 3), 3);
  const auto b = kernels_of(call_of(CollectiveKind::broadcast, 40 << 20, 3, 1), 3);
  const auto c = moves_of(call_of(CollectiveKind::all_to_all, 1000, 3), 3, {2, true});
  EXPECT_EQ(fault_of(CheckedCalls{{&a, &b, &c, &a, &c, &b}, false}), "");
}

std::uint64_t packets_of(CollectiveKind kind, std::uint64_t count) {
  Collective c = call_of(kind, count, 4);
  c.dtype = DType::bf16;
  return packet_bytes(c, 4);
}

TEST(Packets, AreForSmallAndEvenParts) {
  EXPECT_EQ(packets_of(CollectiveKind::all_gather, 8192), 16384u);
  EXPECT_EQ(packets_of(CollectiveKind::all_to_all, 4), 8u);
  EXPECT_EQ(packets_of(CollectiveKind::reduce_scatter, 65536), 131072u);
  EXPECT_EQ(packets_of(CollectiveKind::reduce_scatter, 65537), 0u);  // too large
  EXPECT_EQ(packets_of(CollectiveKind::all_gather, 3), 6u);
  EXPECT_EQ(packets_of(CollectiveKind::all_gather, 0), 0u);
  EXPECT_EQ(packets_of(CollectiveKind::broadcast, 8192), 0u);
  EXPECT_EQ(packets_of(CollectiveKind::all_reduce, 8192), 16384u);
}

// Of all_reduces of bf16 that have packets, and of those that are too large: by number of ranks.
TEST(Packets, AreForSmallerAllReducesOfMoreRanks) {
  for (const auto& [ranks, most] :
       {std::pair{2, 327680u}, std::pair{4, 72817u}, std::pair{8, 26749u}, std::pair{17, 10880u}}) {
    Collective c = call_of(CollectiveKind::all_reduce, most, ranks);
    c.dtype = DType::bf16;
    EXPECT_EQ(packet_bytes(c, ranks), 2 * most) << ranks;
    ++c.count;
    EXPECT_EQ(packet_bytes(c, ranks), 0u) << ranks;
  }
}

TEST(Packets, AreNotTakenToWhereOthersAreSentFrom) {
  CollectiveSchedule wrong =
      kernels_of(call_of(CollectiveKind::all_reduce, 64, 3), 3, Places::in_place);
  EXPECT_EQ(fault_of(wrong), "");
  wrong.ranks[1].steps.front().kernel.packets[2].source.offset = 8;
  EXPECT_EQ(fault_of(wrong),
            "rank 1 receives packets at recv of rank 1, 64 bytes from 0 on, which overlaps send of "
            "rank 1, 64 bytes from 8 on, sent as packets");
  wrong = kernels_of(call_of(CollectiveKind::reduce_scatter, 64, 3), 3, Places::in_place);
  EXPECT_EQ(fault_of(wrong), "");
  wrong.ranks[1].steps.front().kernel.packets[2].source.offset = 72;
  EXPECT_EQ(fault_of(wrong),
            "rank 1 receives packets at recv of rank 1, 64 bytes from 0 on, which overlaps send of "
            "rank 1, 64 bytes from 72 on, sent as packets");
}

// A third call uses the buffers of the first one: with one half instead of two it is the second.
TEST(Packets, NeedTwoHalves) {
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    CollectiveSchedule half = kernels_of(call_of(kind, 64, 3), 3);
    EXPECT_EQ(fault_of(half), "");
    for (RankSchedule& rank : half.ranks) rank = with_packets_as_items(rank, 0);
    EXPECT_NE(fault_of(CheckedCalls{{&half, &half}, true}), "") << name(kind);
  }
}

CollectiveSchedule pulled(const Swept& s) {
  AlgorithmInput input = all_reduce_input(s.count, s.ranks, s.lanes);
  input.out_of_step = false;
  return schedules(input, {pulled_reduction(), spread()}, s.places);
}

TEST(PulledReduction, IsRightForEveryNumberOfRanksAndSize) {
  expect_right({up_to_17_from(1),
                {CollectiveKind::all_reduce},
                {0, 1, 3, 1403},
                in_order({2}, true),
                kAllPlaces},
               pulled);
}

TEST(PulledReduction, NeedsEveryWaitSignalAndEdge) {
  const auto lanes = [](int ranks) { return Lanes{{std::min(2, ranks - 1), true}}; };
  expect_needed({{2, 3, 4}, {CollectiveKind::all_reduce}, {2, 1403}, lanes}, pulled);
}

CollectiveSchedule relayed(const Swept& s) {
  return schedules(input_of(s.call(s.ranks / 2), s.ranks, {}, s.size), {relay()}, s.places);
}

TEST(Relay, IsRightForEveryNumberOfRanksAndPieces) {
  expect_right({up_to_17_from(2),
                {CollectiveKind::broadcast},
                {100},
                in_order({1}),
                kApartOrNot,
                {100, 60, 30, 4}},
               relayed);
  EXPECT_FALSE(relay().fits(input_of(call_of(CollectiveKind::broadcast, 1, 1), 1, {})));
  EXPECT_FALSE(relay().fits(input_of(call_of(CollectiveKind::broadcast, 0, 3), 3, {})));
}

TEST(Relay, NeedsEveryWaitAndSignal) {
  expect_needed(
      {{2, 3, 4}, {CollectiveKind::broadcast}, {100}, in_order({1}), {Places::apart}, {100, 40}},
      relayed);
}

// What is only for speed: the result is right without it, so that these tests alone show it.

// Whether two ranks may push to one receiver at a time, by all that orders them.
bool pushes_collide(const CollectiveSchedule& schedule) {
  const CheckedCalls calls{{&schedule}, false};
  StepOrder order(calls);
  EXPECT_EQ(order.fault(), "");
  std::vector<std::pair<int, int>> pushes;  // receiver and step
  for (int number = 0; number < static_cast<int>(order.steps().size()); ++number) {
    const Step* const step = order.step_of(number);
    if (step == nullptr) continue;
    const int rank = order.steps()[index_of(number)].rank;
    for (const StepCopy& copy : step->copies) {
      if (copy.to.rank != rank) pushes.emplace_back(copy.to.rank, number);
    }
  }
  for (const auto& [to, one] : pushes) {
    for (const auto& [other_to, other] : pushes) {
      if (to == other_to && one < other && !order.before(one, other) && !order.before(other, one))
        return true;
    }
  }
  return false;
}

TEST(SendTokens, LetOneRankPushToAReceiverAtATime) {
  const Collective many = call_of(CollectiveKind::all_gather, 24 << 16, 4);
  const Collective few = call_of(CollectiveKind::all_gather, 3 << 16, 4);
  EXPECT_FALSE(pushes_collide(staged(many, 4, {2, true})));
  EXPECT_TRUE(pushes_collide(staged(few, 4, {2, true})));
  EXPECT_FALSE(pushes_collide(reduction_of(24 << 16, 4, {2, true})));
}

TEST(Spread, NoRankPushesBeforeAllAreReadyWhereTheyAreOutOfStep) {
  const Collective c = call_of(CollectiveKind::all_reduce, 1000, 4);
  for (const bool out_of_step : {false, true}) {
    AlgorithmInput input = input_of(c, 4, {2, true});
    input.rank = 1;
    input.out_of_step = out_of_step;
    const RankSchedule schedule = spread().schedule(input);
    const bool waits = !schedule.steps.at(1).waits.empty() && schedule.steps[1].lane == 0;
    EXPECT_EQ(waits, out_of_step);
    if (!out_of_step) continue;
    EXPECT_EQ(schedule.steps[0].signals.size(), 3u);
    EXPECT_EQ(schedule.steps[1].waits.size(), 3u);
  }
  AlgorithmInput apart = input_of(c, 4, {3, false});
  apart.out_of_step = true;
  EXPECT_TRUE(spread().schedule(apart).steps.at(0).signals.empty());
}

// In a graph, pushes that are captured behind it would wait for it.
TEST(DirectMoves, EnqueueTheLocalCopyLast) {
  for (const std::uint64_t defer_bytes : {100, 1 << 20}) {
    AlgorithmInput input = input_of(call_of(CollectiveKind::all_gather, 1000, 4), 4, {2, true});
    input.defer_bytes = defer_bytes;
    int last = -1;
    for (const Step& step : direct_moves().schedule(input).steps) {
      for (const StepCopy& copy : step.copies) last = copy.to.rank;
    }
    EXPECT_EQ(last, 0);
  }
}

TEST(PulledReduction, KeepsRanksInStep) {
  const RankSchedule schedule =
      pulled_reduction().schedule(input_of(call_of(CollectiveKind::all_reduce, 8, 4), 4, {}));
  EXPECT_TRUE(schedule.steps.at(0).kernel.barriers->closes);
  EXPECT_GE(pulled_reduction().most_in_step, 4);
  EXPECT_LT(staged_reduction().most_in_step, 2);
}

// The push of rank 0 to rank 1 is cut where the local copy may begin.
TEST(DirectMoves, DeferTheLocalCopy) {
  const Collective c = call_of(CollectiveKind::all_gather, 1000, 3);
  AlgorithmInput input = input_of(c, 3, {2, true});
  input.defer_bytes = 600;
  const RankSchedule schedule = direct_moves().schedule(input);
  const auto local = std::find_if(schedule.steps.begin(), schedule.steps.end(), [](const Step& s) {
    return !s.copies.empty() && s.copies[0].to.rank == 0;
  });
  ASSERT_NE(local, schedule.steps.end());
  ASSERT_EQ(local->after_for_speed.size(), 1u);
  const Step& push = schedule.steps[index_of(local->after_for_speed[0])];
  ASSERT_EQ(push.copies.size(), 1u);
  EXPECT_EQ(push.copies[0].to.bytes, 600u);
}

// The third copy awaits on one lane what the second has awaited on another, or none does.
TEST(CopyOrder, EachStartIsBehindTheOneBefore) {
  for (const bool is_needed : {false, true}) {
    RankSchedule schedule;
    ScheduleWriter writer(schedule);
    CopyOrder order(writer, 0, 2, true);
    for (int distance = 1; distance <= 4; ++distance) {
      Step step;
      step.waits = {{0, 0, is_needed && distance == 3 ? 2 : distance, 0}};
      order.add(step, distance);
    }
    ASSERT_EQ(schedule.steps.size(), 8u);  // a start and a copy each
    for (int start = 2; start < 8; start += 2) {
      const Step& now = schedule.steps[index_of(start)];
      EXPECT_EQ(now.lane, start / 2 % 2);
      EXPECT_EQ(is_needed ? now.after : now.after_for_speed, std::vector<int>{start - 2});
      EXPECT_EQ(now.waits.size(), 1u);
    }
  }
}

}  // namespace
}  // namespace duet
