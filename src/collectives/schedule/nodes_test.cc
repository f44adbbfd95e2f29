// The algorithms over nodes, proved for many nodes, sizes and options; and nothing in their
// schedules that is not needed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "collectives/schedule/algorithms/node_schedule.h"
#include "collectives/schedule/message_steps.h"
#include "collectives/schedule/node_maps_fixture.h"
#include "collectives/schedule/removals_fixture.h"
#include "collectives/uneven_counts_fixture.h"

namespace duet {
namespace {

constexpr CollectiveKind kOverNodes[] = {
    CollectiveKind::all_gather,     CollectiveKind::all_to_all, CollectiveKind::all_to_all_v,
    CollectiveKind::reduce_scatter, CollectiveKind::all_reduce, CollectiveKind::broadcast};

Collective over_nodes(CollectiveKind kind, std::uint64_t count, int ranks) {
  Collective c{kind, DType::int8, Reduction::sum, count, ranks / 2, {}};
  if (kind == CollectiveKind::all_to_all_v) c.counts = uneven_counts(count, ranks);
  return c;
}

struct HowMoved {
  CopyLanes copying{2, true};
  bool by_kernel = false, in_place = false;
};

CollectiveSchedule all_ranks(const Collective& collective, const NodeMap& map, const HowMoved& how,
                             std::uint64_t largest_piece) {
  AlgorithmInput input{collective, 0, map.size(), how.copying};
  input.nodes = &map;
  input.kernel_moves = how.by_kernel;
  input.largest_piece = largest_piece;
  CollectiveSchedule all{collective, {}, {}};
  for (input.rank = 0; input.rank < input.ranks; ++input.rank) {
    input.in_place = how.in_place && recv_bytes(collective, input.rank, input.ranks) > 0 &&
                     send_bytes(collective, input.rank, input.ranks) > 0;
    if (!has_in_place(collective.kind)) input.in_place = false;
    all.in_place.push_back(input.in_place);
    all.ranks.push_back(schedule_over_nodes(input));
  }
  return all;
}

std::vector<HowMoved> ways() {
  std::vector<HowMoved> all;
  for (const CopyLanes copying : {CopyLanes{1, true}, CopyLanes{2, true}, CopyLanes{3, false}}) {
    for (const bool in_place : {false, true}) {
      all.push_back({copying, false, in_place});
      if (copying.count == 2) all.push_back({copying, true, in_place});
    }
  }
  return all;
}

void expect_right(const NodeMap& map, std::initializer_list<std::uint64_t> counts,
                  std::uint64_t largest_piece) {
  for (const CollectiveKind kind : kOverNodes) {
    for (const std::uint64_t count : counts) {
      for (const HowMoved& how : ways()) {
        const Collective c = over_nodes(kind, count, map.size());
        ASSERT_EQ(fault_of(all_ranks(c, map, how, largest_piece)), "")
            << name(kind) << " of " << count << ", " << map.nodes() << " nodes of "
            << map.node_size() << ", " << how.copying.count << " lanes"
            << (how.by_kernel ? ", by kernel" : "") << (how.in_place ? ", in place" : "");
      }
    }
  }
}

// In one message, several, and a last one of one byte.
TEST(OverNodesSchedules, AreRight) {
  for (const auto& [nodes, node_size] :
       {std::pair{2, 1}, {3, 1}, {2, 2}, {3, 2}, {2, 3}, {4, 2}, {3, 3}}) {
    expect_right(map_of(nodes, node_size), {0, 1, 5, 4097, 16385}, 4 << 10);
  }
}

TEST(OverNodesSchedules, AreRightForLargeNodes) {
  expect_right(map_of(2, 5), {37, 20001}, 8 << 10);
  expect_right(map_of(4, 5), {37}, 8 << 10);
}

TEST(OverNodesSchedules, AreRightWhereRanksAreDealtOut) {
  expect_right(map_of(2, 2, true), {20001}, 4 << 10);
  expect_right(map_of(3, 2, true), {20001}, 4 << 10);
}

// Where counts are of the ranks of a column alone, nothing is pushed to be sent by others; where
// they are of the ranks of a node, there is no message.
TEST(OverNodesSchedules, OfColumnsAndOfNodesNeedNoSlots) {
  for (const bool dealt_out : {false, true}) {
    const NodeMap map = map_of(3, 2, dealt_out);
    for (const bool of_columns : {false, true}) {
      Collective c = over_nodes(CollectiveKind::all_to_all_v, 20001, map.size());
      for (int pair = 0; pair < map.size() * map.size(); ++pair) {
        const int from = pair / map.size(), to = pair % map.size();
        const bool counts =
            of_columns ? map.local(from) == map.local(to) : map.node(from) == map.node(to);
        if (!counts) c.counts[index_of(pair)] = 0;
      }
      const CollectiveSchedule all = all_ranks(c, map, {}, 4 << 10);
      EXPECT_EQ(fault_of(all), "");
      for (const RankSchedule& rank : all.ranks) {
        EXPECT_EQ(rank.slot_bytes, 0u);
        EXPECT_EQ(rank.wires.front().messages.empty(), !of_columns);
      }
    }
  }
}

// So they are as large as those of a rank that is alone on its node: one for each other node.
TEST(OverNodesSchedules, OfColumnsAreNotCut) {
  const NodeMap map = map_of(4, 2);
  Collective c = over_nodes(CollectiveKind::all_to_all_v, 20 << 20, map.size());
  for (int pair = 0; pair < map.size() * map.size(); ++pair) {
    if (map.local(pair / map.size()) != map.local(pair % map.size())) c.counts[index_of(pair)] = 0;
  }
  const CollectiveSchedule all = all_ranks(c, map, {}, 0);
  EXPECT_EQ(fault_of(all), "");
  EXPECT_EQ(all.ranks.front().wires.front().messages.size(), 3u);
}

// In messages as the algorithms cut them.
TEST(OverNodesSchedules, AreRightInUsualMessages) {
  for (const int node_size : {1, 2}) {
    expect_right(map_of(2, node_size), {100 << 20}, 0);
  }
}

std::vector<std::string> not_needed(CollectiveKind kind, const NodeMap& map, const HowMoved& how,
                                    std::uint64_t count) {
  const Collective c = over_nodes(kind, count, map.size());
  CollectiveSchedule schedule = all_ranks(c, map, how, 4 << 10);
  for (RankSchedule& rank : schedule.ranks) rank = with_messages_as_steps(rank);
  std::vector<std::string> all = unnoticed_removals(schedule);
  std::sort(all.begin(), all.end());
  return all;
}

void expect_all_needed(const NodeMap& map, const HowMoved& how) {
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                    CollectiveKind::all_to_all, CollectiveKind::all_to_all_v}) {
    const bool is_uneven = kind == CollectiveKind::all_to_all_v;
    std::vector<std::string> of_one = not_needed(kind, map, how, is_uneven ? 1300 : 4000);
    std::vector<std::string> of_more = not_needed(kind, map, how, 20001);
    if (kind == CollectiveKind::all_to_all || is_uneven) {
      std::vector<std::string> of_both;
      std::set_intersection(of_one.begin(), of_one.end(), of_more.begin(), of_more.end(),
                            std::back_inserter(of_both));
      of_one = of_more = of_both;
    }
    const std::string what =
        fmt::format("{}, {} nodes of {}, {} lanes{}", name(kind), map.nodes(), map.node_size(),
                    how.copying.count, how.by_kernel ? ", by kernel" : "");
    EXPECT_EQ(of_one, std::vector<std::string>{}) << what;
    EXPECT_EQ(of_more, std::vector<std::string>{}) << what;
  }
}

// Of one message a distance, and of more than slots. An all_to_all needs its slots' `free` only
// where they are used again, and its `ready` only where they are not; all else both need.
TEST(OverNodesSchedules, NeedEveryWaitSignalAndEdge) {
  for (const HowMoved& how : ways()) {
    if (how.in_place) continue;
    expect_all_needed(map_of(2, 1), how);
    expect_all_needed(map_of(2, 2), how);
  }
  expect_all_needed(map_of(3, 2), {{2, true}});
  expect_all_needed(map_of(2, 3), {{2, true}});
}

// The second half of a broadcast and of an all_reduce is an all_gather; the first one of an
// all_reduce a reduce_scatter. On one lane, since at the root both halves fork the same ones.
TEST(OverNodesSchedules, ABroadcastNeedsAllOfBothHalves) {
  for (const int node_size : {2, 3}) {
    const NodeMap map = map_of(2, node_size);
    for (const HowMoved& how : {HowMoved{{1, true}}, HowMoved{{2, true}, true}}) {
      EXPECT_EQ(not_needed(CollectiveKind::broadcast, map, how, 20001), std::vector<std::string>{})
          << node_size << " ranks of a node" << (how.by_kernel ? ", by kernel" : "");
    }
  }
}

class FaultsOverNodes : public ::testing::Test {
 protected:
  FaultsOverNodes() { EXPECT_EQ(fault_of(gather_), ""); }

  RankSchedule& first() { return gather_.ranks.front(); }
  StepMessage& message() { return first().wires.front().messages.front(); }
  void expect_fault(const std::string& part) {
    EXPECT_NE(fault_of(gather_).find(part), std::string::npos) << fault_of(gather_);
  }
  int step_of(WireCall::Kind kind) {
    const auto found =
        std::find_if(first().steps.begin(), first().steps.end(),
                     [kind](const Step& step) { return step.wire && step.wire->kind == kind; });
    return static_cast<int>(found - first().steps.begin());
  }

  const NodeMap map_ = map_of(2, 2);
  CollectiveSchedule gather_ =
      all_ranks(over_nodes(CollectiveKind::all_gather, 64, 4), map_, {}, 0);
};

TEST_F(FaultsOverNodes, AMessageThatItsReceiverDoesNotExpect) {
  message().to = 3;
  message().pieces[0].target.rank = 3;
  expect_fault("rank 2 expects message 0 from rank 0, which sends another one");
}

TEST_F(FaultsOverNodes, AMessageOfAnotherSize) {
  message().arrivals[0] = 63;
  expect_fault("rank 0 expects message 0 from rank 2");
}

TEST_F(FaultsOverNodes, AMessageToMemoryThatTheWireDoesNotReach) {
  message().pieces[0].target.buffer = BufferRole::send;
  expect_fault("a message to rank 2 in recv brings");
}

TEST_F(FaultsOverNodes, AWireThatDoesNotEnd) {
  first().steps[index_of(step_of(WireCall::Kind::end))].wire.reset();
  expect_fault("wire 0 does not end");
}

TEST_F(FaultsOverNodes, AMessageThatIsSentTwice) {
  first().steps[index_of(step_of(WireCall::Kind::end))].wire->kind = WireCall::Kind::send;
  expect_fault("expected wires to begin, send messages 0, 1 ... and end");
}

TEST_F(FaultsOverNodes, AMessageForWhichNothingSignalsGo) {
  message().staged = true;
  expect_fault("go of rank 0: call 0 has 1 fewer signals than waits");
}

TEST_F(FaultsOverNodes, AMessageFromNoRank) {
  message().from = 4;
  expect_fault("rank 0 expects message 0 from rank 4");
}

TEST_F(FaultsOverNodes, MoreMessagesThanSemaphores) {
  WireMessages& wire = first().wires.front();
  wire.messages.push_back(wire.messages.front());
  const int end = step_of(WireCall::Kind::end);
  Step again;
  again.wire = WireCall{WireCall::Kind::send, 0, 1};
  first().steps.insert(first().steps.begin() + end, again);
  expect_fault("is not for the 2 messages of a wire");
}

TEST_F(FaultsOverNodes, SemaphoresThatAreNotTheWires) {
  first().wires.front().come = 0;  // ready
  expect_fault("group 0 is not for the 1 messages of a wire");
}

TEST_F(FaultsOverNodes, AMessageThatTellsWhenItHasGoneAndIsNotStaged) {
  message().tells_gone = true;
  expect_fault("tells when it has gone, and is not staged");
}

TEST_F(FaultsOverNodes, ACopyToAnotherNode) {
  Step step;
  step.copies = {{{BufferRole::recv, 2, 0, 1}, {BufferRole::send, 0, 0, 1}, Executor::dma, {}}};
  first().steps.push_back(step);
  expect_fault("accesses what is on another node: recv of rank 2");
}

TEST_F(FaultsOverNodes, ASignalToAnotherNode) {
  first().steps.back().signals.push_back({0, 2, 0, 0});
  expect_fault("ready of rank 2 for rank 0, which is on another node");
}

// What is enqueued behind the call of a wire that sends does not wait for the message.
TEST_F(FaultsOverNodes, WhatIsBehindASendIsNotBehindItsMessage) {
  Step writes;
  writes.copies = {{{BufferRole::send, 0, 0, 1}, {BufferRole::send, 0, 1, 1}, Executor::dma, {}}};
  first().steps.push_back(writes);
  EXPECT_EQ(fault_of(gather_), "");  // behind all
  first().steps.pop_back();
  std::vector<Step>& steps = first().steps;
  const int behind = step_of(WireCall::Kind::send) + 1;
  ASSERT_GT(behind, step_of(WireCall::Kind::begin));
  for (Step& step : steps) {
    for (auto* list : {&step.after, &step.after_for_speed}) {
      for (int& earlier : *list) earlier += earlier >= behind ? 1 : 0;
    }
  }
  steps.insert(steps.begin() + behind, writes);
  expect_fault("nothing orders them");
}

}  // namespace
}  // namespace duet
