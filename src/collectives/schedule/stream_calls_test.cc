// How many calls to streams each algorithm takes, since each is a call to the driver, and that none
// comes later than it has to.
#include "collectives/schedule/stream_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/copy_order.h"
#include "collectives/schedule/algorithms/node_schedule.h"

namespace duet {
namespace {

using Kind = StreamCall::Kind;

AlgorithmInput input_of(CollectiveKind kind, std::uint64_t count) {
  return {{kind, DType::fp32, Reduction::sum, count, 0, {}}, 1, 4, {2, true}};
}

// Of rank 1 of 4 behind a switch: "copies, kernels, handshakes, records, waits".
std::string calls_of(const RankSchedule& schedule) {
  std::map<Kind, int> number;
  for (const StreamCall& call : stream_calls(schedule)) ++number[call.kind];
  return fmt::format("{} {} {} {} {}", number[Kind::copy], number[Kind::kernel],
                     number[Kind::handshake], number[Kind::record], number[Kind::wait]);
}

std::string calls_of(const Algorithm& algorithm, CollectiveKind kind, std::uint64_t count,
                     bool in_place = false) {
  AlgorithmInput input = input_of(kind, count);
  input.in_place = input.any_swaps = in_place;
  input.out_of_step = true;
  return calls_of(algorithm.schedule(input));
}

// Beside those of the wire.
std::string calls_over_nodes(CollectiveKind kind, std::uint64_t count, bool by_kernel = false) {
  const NodeMap two_nodes({{0, 1}, {2, 3}});
  AlgorithmInput input = input_of(kind, count);
  input.nodes = &two_nodes;
  input.kernel_moves = by_kernel;
  return calls_of(schedule_over_nodes(input));
}

// A number that grows is a call more for every user of the algorithm: say why where it is changed.
TEST(StreamCalls, AreNoMoreThanThese) {
  constexpr std::uint64_t kLarge = 64 << 20;
  EXPECT_EQ(calls_of(direct_moves(), CollectiveKind::all_gather, 1000), "4 0 4 3 4");
  EXPECT_EQ(calls_of(direct_moves(), CollectiveKind::all_gather, kLarge), "5 0 4 4 5");
  EXPECT_EQ(calls_of(direct_moves(), CollectiveKind::all_to_all, 1000), "4 0 4 3 4");
  EXPECT_EQ(calls_of(staged_moves(), CollectiveKind::all_to_all, 1000, true), "6 0 10 5 6");
  EXPECT_EQ(calls_of(staged_moves(), CollectiveKind::all_to_all, kLarge), "25 0 32 3 4");
  EXPECT_EQ(calls_of(broadcast_pipeline(), CollectiveKind::broadcast, kLarge), "16 0 33 17 17");
  EXPECT_EQ(calls_of(staged_reduction(), CollectiveKind::reduce_scatter, 1000), "3 1 6 5 6");
  EXPECT_EQ(calls_of(staged_reduction(), CollectiveKind::reduce_scatter, kLarge), "12 1 13 2 2");
  EXPECT_EQ(calls_of(additions(), CollectiveKind::reduce_scatter, kLarge), "9 1 10 3 4");
  EXPECT_EQ(calls_of(pulled_reduction(), CollectiveKind::all_reduce, kLarge), "0 1 0 0 0");
  EXPECT_EQ(calls_of(spread(), CollectiveKind::all_reduce, kLarge), "3 0 5 4 4");
  EXPECT_EQ(calls_of(staged_spread(), CollectiveKind::all_reduce, 1000), "6 0 10 5 6");
  EXPECT_EQ(calls_of(peer_kernels(), CollectiveKind::all_gather, 1000), "0 1 0 0 0");
  EXPECT_EQ(calls_of(peer_kernels(), CollectiveKind::all_reduce, kLarge), "0 2 0 0 0");
  EXPECT_EQ(calls_of(relay(), CollectiveKind::broadcast, kLarge), "0 1 0 0 0");
}

// As halo exchange calls it, and as others do.
TEST(StreamCalls, OfNeighborsAreNoMoreThanThese) {
  AlgorithmInput input = input_of(CollectiveKind::neighbor_exchange, 1000);
  EXPECT_EQ(calls_of(neighbor_pushes().schedule(input)), "2 0 4 3 4");
  input.collective.neighbors.alternating = input.collective.neighbors.computes = true;
  EXPECT_EQ(calls_of(neighbor_pushes().schedule(input)), "2 0 3 3 4");
  input.kernel_moves = true;
  EXPECT_EQ(calls_of(neighbor_pushes().schedule(input)), "2 0 1 0 0");
}

TEST(StreamCalls, OverNodesAreNoMoreThanThese) {
  constexpr std::uint64_t kLarge = 64 << 20;
  EXPECT_EQ(calls_over_nodes(CollectiveKind::all_gather, 1000), "3 0 4 4 5");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::all_gather, 1000, true), "1 1 3 2 2");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::all_gather, kLarge), "43 0 44 44 45");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::all_to_all, 1000), "3 0 10 7 9");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::all_to_all, kLarge), "66 0 202 70 72");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::reduce_scatter, 1000), "2 1 4 4 5");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::reduce_scatter, kLarge), "20 1 40 22 23");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::all_reduce, 1000), "4 1 8 7 8");
  EXPECT_EQ(calls_over_nodes(CollectiveKind::broadcast, 1000), "1 0 3 3 3");
}

// The event that lets the next lane start is recorded before the copy, not behind it.
TEST(StreamCalls, AStartIsRecordedBeforeItsCopy) {
  RankSchedule schedule;
  ScheduleWriter writer(schedule);
  writer.fork(1, 1);
  CopyOrder order(writer, 0, 2, true);
  for (int distance = 1; distance <= 4; ++distance) {
    Step step;
    step.copies.push_back({});
    order.add(step, distance);
  }
  writer.join(1, 1);
  const std::vector<StreamCall> calls = stream_calls(schedule);
  int copies = 0;
  for (std::size_t call = 0; call < calls.size(); ++call) {
    if (calls[call].kind != Kind::copy || ++copies == 4) continue;  // none starts behind the last
    ASSERT_GT(call, 0u);
    EXPECT_EQ(calls[call - 1].kind, Kind::record) << "call " << call;
    EXPECT_EQ(calls[call - 1].lane, calls[call].lane);
  }
  EXPECT_EQ(copies, 4);
}

TEST(StreamCalls, SignalsAndThenWaitsAreOneHandshake) {
  RankSchedule schedule;
  schedule.semaphores = {{"here"}, {"there"}};
  schedule.ranks = 2;
  schedule.steps.resize(3);
  schedule.steps[0].signals = {{0, 1, 0, 0}};
  schedule.steps[1].waits = {{0, 0, 1, 0}};
  schedule.steps[2].waits = {{1, 0, 1, 0}};
  const std::vector<StreamCall> calls = stream_calls(schedule);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].signals.size(), 1u);
  EXPECT_EQ(calls[0].waits.size(), 1u);
  EXPECT_EQ(calls[1].waits.front().group, 1);
}

// An event is recorded once, however many wait for it.
TEST(StreamCalls, AForkIsOneEvent) {
  RankSchedule schedule;
  ScheduleWriter writer(schedule);
  writer.fork(1, 3);
  writer.join(1, 3);
  const std::vector<StreamCall> calls = stream_calls(schedule);
  const auto number = [&](Kind kind) {
    return std::count_if(calls.begin(), calls.end(),
                         [kind](const StreamCall& call) { return call.kind == kind; });
  };
  EXPECT_EQ(number(Kind::record), 4);
  EXPECT_EQ(number(Kind::wait), 6);
}

}  // namespace
}  // namespace duet
