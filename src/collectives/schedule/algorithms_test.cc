// Every algorithm, proved for many ranks, sizes and options; and nothing in its schedule that is
// not needed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/copy_order.h"
#include "collectives/schedule/algorithms/kernel_items.h"
#include "collectives/schedule/algorithms/staging_slots.h"
#include "collectives/schedule/packet_steps.h"
#include "collectives/schedule/removals_fixture.h"
#include "collectives/schedule/step_order.h"

namespace duet {
namespace {

Collective call_of(CollectiveKind kind, std::uint64_t count, int ranks, int root = 0) {
  Collective c{kind, DType::int8, Reduction::sum, count, root, {}};
  for (int pair = 0; kind == CollectiveKind::all_to_all_v && pair < ranks * ranks; ++pair) {
    c.counts.push_back(count * static_cast<std::uint64_t>((pair / ranks + 2 * pair) % 4));
  }
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
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const CollectiveKind kind : kinds_that_move()) {
      const Collective c = call_of(kind, 37, ranks, ranks / 2);
      for (const int lanes : {1, 2, 3, 16}) {
        ASSERT_EQ(fault_of(moves_of(c, ranks, {lanes, lanes < 3})), "")
            << name(kind) << ", " << ranks << " ranks, " << lanes << " lanes";
      }
    }
  }
}

TEST(DirectMoves, AreRightInPlaceAndForEverySize) {
  for (const int ranks : {2, 3, 5}) {
    for (const CollectiveKind kind : kinds_that_move()) {
      const bool in_place = has_in_place(kind) && kind != CollectiveKind::all_to_all;
      for (const std::uint64_t count : {0, 1, 1000, 4097}) {
        const Collective c = call_of(kind, count, ranks, ranks - 1);
        for (const std::uint64_t defer_bytes : {1, 1000, 5000, 1 << 20}) {
          for (const Places places : {Places::apart, Places::in_place, Places::mixed}) {
            if (places != Places::apart && !in_place) continue;
            ASSERT_EQ(fault_of(moves_of(c, ranks, {2, true}, defer_bytes, places)), "")
                << name(kind) << " of " << count << ", " << ranks << " ranks, from " << defer_bytes;
          }
        }
      }
    }
  }
}

TEST(DirectMoves, NeedEveryWaitSignalAndEdge) {
  for (const int ranks : {2, 3, 4}) {
    for (const CollectiveKind kind : kinds_that_move()) {
      const Collective c = call_of(kind, 64, ranks, 1);
      for (const std::uint64_t defer_bytes : {1, 1 << 20}) {
        for (const int lanes : {1, 2}) {
          EXPECT_EQ(unnoticed_removals(moves_of(c, ranks, {lanes, true}, defer_bytes)),
                    std::vector<std::string>{})
              << name(kind) << ", " << ranks << " ranks, " << lanes << " lanes";
        }
      }
    }
  }
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
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const CollectiveKind kind : kinds_that_move()) {
      for (const std::uint64_t count : {0, 1, 150001, 24 << 16}) {
        if (ranks > 8 && count > 150001) continue;
        const Collective c = call_of(kind, count, ranks, ranks / 2);
        for (const CopyLanes copying :
             {CopyLanes{1, true}, CopyLanes{2, true}, CopyLanes{ranks, false}}) {
          ASSERT_EQ(fault_of(staged(c, ranks, copying)), "")
              << name(kind) << " of " << count << ", " << ranks << " ranks, " << copying.count
              << " lanes";
        }
      }
    }
  }
}

TEST(StagedMoves, AreRightInPlace) {
  for (const int ranks : {2, 3, 5}) {
    for (const Collective& c : {call_of(CollectiveKind::all_to_all, 1, ranks),
                                call_of(CollectiveKind::all_to_all, 150001, ranks),
                                call_of(CollectiveKind::all_to_all, 400000, ranks),
                                call_of(CollectiveKind::all_gather, 150001, ranks)}) {
      for (const Places places : {Places::in_place, Places::mixed}) {
        for (const CopyLanes copying :
             {CopyLanes{2, true}, CopyLanes{3, true}, CopyLanes{ranks, false}}) {
          ASSERT_EQ(fault_of(staged(c, ranks, copying, places)), "")
              << name(c.kind) << " of " << c.count << ", " << ranks << " ranks, " << copying.count
              << " lanes";
        }
      }
    }
  }
}

TEST(StagedMoves, NeedEveryWaitSignalAndEdge) {
  for (const int ranks : {2, 3, 4}) {
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
      for (const std::uint64_t count : {1, 150001, 400000}) {
        const Collective c = call_of(kind, count, ranks);
        for (const CopyLanes copying :
             {CopyLanes{2, true}, CopyLanes{3, true}, CopyLanes{ranks, false}}) {
          EXPECT_EQ(unnoticed_removals(staged(c, ranks, copying)), std::vector<std::string>{})
              << name(kind) << " of " << count << ", " << ranks << " ranks, " << copying.count
              << " lanes";
        }
      }
    }
  }
}

CollectiveSchedule broadcast_of(std::uint64_t bytes, std::uint64_t piece, int ranks, int root,
                                CopyLanes copying, Places places = Places::apart) {
  const Collective c = call_of(CollectiveKind::broadcast, bytes, ranks, root);
  return schedules(input_of(c, ranks, copying, piece), {broadcast_pipeline()}, places);
}

TEST(BroadcastPipeline, IsRightForEveryNumberOfRanksAndPieces) {
  for (int ranks = 3; ranks <= 17; ++ranks) {
    for (const std::uint64_t piece : {100, 60, 30, 10, 4}) {
      for (const CopyLanes copying :
           {CopyLanes{1, true}, CopyLanes{2, true}, CopyLanes{ranks - 1, false}}) {
        for (const Places places : {Places::apart, Places::in_place}) {
          ASSERT_EQ(fault_of(broadcast_of(100, piece, ranks, ranks / 2, copying, places)), "")
              << ranks << " ranks, pieces of " << piece << ", " << copying.count << " lanes";
        }
      }
    }
  }
  EXPECT_EQ(fault_of(broadcast_of(0, 1, 3, 0, {2, true})), "");
  const Collective one = call_of(CollectiveKind::broadcast, 1, 2);
  EXPECT_FALSE(broadcast_pipeline().fits(input_of(one, 2, {2, true})));
}

TEST(BroadcastPipeline, NeedsEveryWaitSignalAndEdge) {
  for (const int ranks : {3, 4, 5}) {
    for (const std::uint64_t piece : {100, 50, 15}) {
      for (const CopyLanes copying : {CopyLanes{2, true}, CopyLanes{ranks - 1, false}}) {
        EXPECT_EQ(unnoticed_removals(broadcast_of(100, piece, ranks, 1, copying)),
                  std::vector<std::string>{})
            << ranks << " ranks, pieces of " << piece << ", " << copying.count << " lanes";
      }
    }
  }
}

CollectiveSchedule reduction_of(std::uint64_t bytes, int ranks, CopyLanes copying,
                                Places places = Places::apart) {
  AlgorithmInput input =
      input_of(call_of(CollectiveKind::reduce_scatter, bytes, ranks), ranks, copying, 1 << 16);
  for (int rank = 0; rank < ranks; ++rank) input.shifts.push_back(rank % 2 == 0 ? 0 : 4);
  return schedules(input, {staged_reduction()}, places);
}

TEST(StagedReduction, IsRightForEveryNumberOfRanksAndSize) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const std::uint64_t bytes : {0, 4, 150000, 24 << 16}) {
      if (ranks > 8 && bytes > 150000) continue;
      for (const CopyLanes copying :
           {CopyLanes{1, true}, CopyLanes{2, true}, CopyLanes{3, true}, CopyLanes{ranks, false}}) {
        for (const Places places : {Places::apart, Places::in_place}) {
          ASSERT_EQ(fault_of(reduction_of(bytes, ranks, copying, places)), "")
              << bytes << " bytes, " << ranks << " ranks, " << copying.count << " lanes";
        }
      }
    }
  }
}

TEST(StagedReduction, NeedsEveryWaitSignalAndEdge) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::uint64_t bytes : {4, 150000, 400000}) {
      for (const CopyLanes copying :
           {CopyLanes{2, true}, CopyLanes{3, true}, CopyLanes{ranks, false}}) {
        EXPECT_EQ(unnoticed_removals(reduction_of(bytes, ranks, copying)),
                  std::vector<std::string>{})
            << bytes << " bytes, " << ranks << " ranks, " << copying.count << " lanes";
      }
    }
  }
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

CollectiveSchedule additions_of(CollectiveKind kind, std::uint64_t count, int ranks,
                                CopyLanes copying, Places places = Places::apart) {
  AlgorithmInput input = input_of(call_of(kind, count, ranks), ranks, copying, 1 << 16);
  input.collective.dtype = DType::int32;
  input.out_of_step = ranks > 2;
  return schedules(input, whole_of(additions(), input), places);
}

TEST(Additions, AreRightForEveryNumberOfRanksAndSize) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      for (const std::uint64_t count : {0, 1, 3, 1403, 30001}) {
        for (const CopyLanes copying :
             {CopyLanes{1, true}, CopyLanes{2, true}, CopyLanes{ranks, false}}) {
          for (const Places places : {Places::apart, Places::in_place, Places::mixed}) {
            ASSERT_EQ(fault_of(additions_of(kind, count, ranks, copying, places)), "")
                << name(kind) << " of " << count << ", " << ranks << " ranks, " << copying.count
                << " lanes";
          }
        }
      }
    }
  }
  const Collective one = call_of(CollectiveKind::reduce_scatter, 1, 1);
  EXPECT_FALSE(additions().fits(input_of(one, 1, {2, true})));
}

TEST(Additions, NeedEveryWaitSignalAndEdge) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::uint64_t count : {1, 1403, 40001}) {
      for (const CopyLanes copying : {CopyLanes{1, true}, CopyLanes{2, true}}) {
        EXPECT_EQ(
            unnoticed_removals(additions_of(CollectiveKind::reduce_scatter, count, ranks, copying)),
            std::vector<std::string>{})
            << count << " elements, " << ranks << " ranks, " << copying.count << " lanes";
      }
    }
  }
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
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const std::uint64_t count : {0, 1, 3, 1403, 90001}) {
      for (const CopyLanes copying :
           {CopyLanes{1, true}, CopyLanes{2, true}, CopyLanes{3, true}, CopyLanes{ranks, false}}) {
        for (const Places places : {Places::apart, Places::in_place, Places::mixed}) {
          ASSERT_EQ(fault_of(schedules(all_reduce_input(count, ranks, copying),
                                       {staged_reduction(), spread()}, places)),
                    "")
              << count << " elements, " << ranks << " ranks, " << copying.count << " lanes";
        }
      }
    }
  }
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
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const CollectiveKind kind : all_collectives()) {
      const bool has_places = has_in_place(kind) && kind != CollectiveKind::all_to_all;
      for (const std::uint64_t count : {0, 1, 64, 1403, 40 << 20}) {
        const Collective c = call_of(kind, count, ranks, ranks / 2);
        for (const Places places : {Places::apart, Places::in_place, Places::mixed}) {
          if (places != Places::apart && !has_places) continue;
          ASSERT_EQ(fault_of(kernels_of(c, ranks, places)), "")
              << name(kind) << " of " << count << ", " << ranks << " ranks";
        }
      }
    }
  }
}

TEST(PeerKernels, NeedEveryBarrier) {
  for (const int ranks : {2, 3, 4}) {
    for (const CollectiveKind kind : all_collectives()) {
      for (const std::uint64_t count : {63, 40 << 20}) {
        EXPECT_EQ(unnoticed_removals(kernels_of(call_of(kind, count, ranks), ranks)),
                  std::vector<std::string>{})
            << name(kind) << " of " << count << ", " << ranks << " ranks";
      }
    }
  }
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

CollectiveSchedule pulled(std::uint64_t count, int ranks, CopyLanes copying,
                          Places places = Places::apart) {
  AlgorithmInput input = all_reduce_input(count, ranks, copying);
  input.out_of_step = false;
  return schedules(input, {pulled_reduction(), spread()}, places);
}

TEST(PulledReduction, IsRightForEveryNumberOfRanksAndSize) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const std::uint64_t count : {0, 1, 3, 1403}) {
      for (const CopyLanes copying : {CopyLanes{2, true}, CopyLanes{ranks, false}}) {
        for (const Places places : {Places::apart, Places::in_place, Places::mixed}) {
          ASSERT_EQ(fault_of(pulled(count, ranks, copying, places)), "")
              << count << " elements, " << ranks << " ranks, " << copying.count << " lanes";
        }
      }
    }
  }
}

TEST(PulledReduction, NeedsEveryWaitSignalAndEdge) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::uint64_t count : {2, 1403}) {
      const CopyLanes copying{std::min(2, ranks - 1), true};
      EXPECT_EQ(unnoticed_removals(pulled(count, ranks, copying)), std::vector<std::string>{})
          << count << " elements, " << ranks << " ranks";
    }
  }
}

CollectiveSchedule relayed(std::uint64_t bytes, std::uint64_t piece, int ranks,
                           Places places = Places::apart) {
  const Collective c = call_of(CollectiveKind::broadcast, bytes, ranks, ranks / 2);
  return schedules(input_of(c, ranks, {}, piece), {relay()}, places);
}

TEST(Relay, IsRightForEveryNumberOfRanksAndPieces) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    for (const std::uint64_t piece : {100, 60, 30, 4}) {
      for (const Places places : {Places::apart, Places::in_place}) {
        ASSERT_EQ(fault_of(relayed(100, piece, ranks, places)), "")
            << ranks << " ranks, pieces of " << piece;
      }
    }
  }
  EXPECT_FALSE(relay().fits(input_of(call_of(CollectiveKind::broadcast, 1, 1), 1, {})));
  EXPECT_FALSE(relay().fits(input_of(call_of(CollectiveKind::broadcast, 0, 3), 3, {})));
}

TEST(Relay, NeedsEveryWaitAndSignal) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::uint64_t piece : {100, 40}) {
      EXPECT_EQ(unnoticed_removals(relayed(100, piece, ranks)), std::vector<std::string>{})
          << ranks << " ranks, pieces of " << piece;
    }
  }
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
