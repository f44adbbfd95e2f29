#include "collectives/nodes/fabric_wire.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "collectives/collective_work.h"
#include "collectives/nodes/rails_fixture.h"
#include "collectives/nodes/staged_wire.h"
#include "collectives/schedule/algorithms/messages.h"
#include "collectives/session/calls_fixture.h"
#include "core/error.h"
#include "timing/sampler.h"

// A connection that libfabric 1.17's tcp has accepted and not yet answered leaks when its endpoint
// is closed, as at the end of a session that has failed. What Duet itself leaves open of a fabric
// is noticed by the tests of src/fabric.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so"; }

namespace duet {
namespace {

TEST(WireImmediate, HasAllOfIt) {
  for (const bool odd : {false, true}) {
    const WireImmediate all{WireImmediate::kWires - 1, WireImmediate::kNumbers - 2, odd};
    const WireImmediate back = WireImmediate::of(all.value());
    EXPECT_EQ(back.wire, all.wire);
    EXPECT_EQ(back.number, all.number);
    EXPECT_EQ(back.odd_call, odd);
  }
}

class FabricWireTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string reason = why_no_rails(GetParam());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  static void on_nodes(int nodes, const std::function<void(Team&, CollectiveSession&)>& fn,
                       bool staged = false, int ranks_of_node = 1, int queue = 0) {
    NetworkOptions network;
    network.provider = GetParam();
    network.staged = staged;
    network.link_gbit = 1;  // so slow that what is staged goes in the smallest chunks
    on_rails(nodes, network, fn, ranks_of_node, queue);
  }
};

constexpr std::uint64_t kSmallestChunk = 512 << 10;
constexpr CollectiveKind kOverRails[] = {CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                         CollectiveKind::reduce_scatter, CollectiveKind::all_reduce,
                                         CollectiveKind::broadcast};

TEST_P(FabricWireTest, CallsAreRight) {
  for (const int nodes : {2, 3}) {
    on_nodes(nodes, [](Team& team, CollectiveSession& session) {
      for (const CollectiveKind kind :
           {CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::reduce_scatter,
            CollectiveKind::all_reduce}) {
        // One byte; a piece and a byte; many pieces.
        for (const std::uint64_t count : {1u, (64u << 10) + 1, 5u << 20}) {
          run_calls(team, plans_of(session), collective_of(kind, count), {3});
        }
      }
    });
  }
}

TEST_P(FabricWireTest, ManyCallsInARowSomeCapturedOfRanksOutOfStep) {
  on_nodes(3, [](Team& team, CollectiveSession& session) {
    run_calls(team, plans_of(session), collective_of(CollectiveKind::all_gather, 37),
              {100, false, 0, 3});
    run_calls(team, plans_of(session), collective_of(CollectiveKind::all_to_all, 5000),
              {40, false, 2000});
  });
}

// Through pinned slots, more chunks than there are slots: parts of unequal size, messages whose
// source is ready later, and ranks out of step.
TEST_P(FabricWireTest, StagedCallsAreRight) {
  const auto calls = [](Team& team, CollectiveSession& session) {
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                      CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      for (const std::uint64_t count : {1u, (1u << 20) + 1}) {
        run_calls(team, plans_of(session), collective_of(kind, count), {3, false, 1000});
      }
    }
    run_calls(team, plans_of(session), collective_of(CollectiveKind::all_gather, 5 << 20),
              {6, false, 0, 3});
  };
  on_nodes(3, calls, true);
}

// 64 calls of 8 chunks behind one start gate: with a full queue it would never open.
TEST_P(FabricWireTest, SamplesOfStagedCallsMayBeLongerThanAStreamsQueue) {
  const auto measure = [](Team& team, CollectiveSession& session) {
    const Collective gather = collective_of(CollectiveKind::all_gather, 8 * kSmallestChunk);
    CollectiveWork work(team, session, gather, false);
    Mode mode = loop_mode();
    mode.warm_up_iterations = 1;
    mode.iterations = 64;
    mode.max_iterations = 1;
    EXPECT_TRUE(Sampler(team).measure(work, mode).verified);
  };
  on_nodes(2, measure, true, 1, 100);
}

TEST_P(FabricWireTest, StagedCallsAtTheEdgesOfChunksAreRight) {
  const auto calls = [](Team& team, CollectiveSession& session) {
    for (const std::uint64_t bytes : {kSmallestChunk, 4 * kSmallestChunk, 8 * kSmallestChunk}) {
      for (const std::uint64_t count : {bytes - 1, bytes, bytes + 1}) {
        run_calls(team, plans_of(session), collective_of(CollectiveKind::all_gather, count), {2});
      }
      run_calls(team, plans_of(session), collective_of(CollectiveKind::all_reduce, bytes / 2), {2});
    }
  };
  on_nodes(2, calls, true);
}

// So its work fits a stream's queue.
TEST_P(FabricWireTest, AStagedCallHasAtMost128ChunksBesideThoseThatEndMessages) {
  const auto plan = [](Team& team, CollectiveSession& session) {
    constexpr std::uint64_t kBytes = 140 * kSmallestChunk;
    team.each([&](Rank& rank) {
      const Collective c = collective_of(CollectiveKind::all_gather, kBytes);
      const Buffer send = rank.device.allocate(kBytes), recv = rank.device.allocate(2 * kBytes);
      const std::string algorithm = session.plan(rank, c, {send.span(), recv.span()})->algorithm();
      const auto messages = cut_into_messages(kBytes, message_for(kBytes, 1), true).size();
      int chunks = 0;
      ASSERT_EQ(std::sscanf(algorithm.c_str(), "between nodes %d messages", &chunks), 1)
          << algorithm;
      EXPECT_LE(chunks, 128 + static_cast<int>(messages)) << algorithm;
      EXPECT_GE(chunks, 100) << algorithm;
    });
  };
  on_nodes(2, plan, true);
}

// Ranks of a node push into slots of the one that sends, which may be long after it has begun.
TEST_P(FabricWireTest, MessagesWaitForAllRanksOfTheirNode) {
  const auto calls = [](Team& team, CollectiveSession& session) {
    for (const CollectiveKind kind : kOverRails) {
      run_calls(team, plans_of(session), collective_of(kind, 100001), {4, false, 10000});
    }
  };
  for (const bool staged : {false, true}) on_nodes(2, calls, staged, 2);
}

// A message's chunks wait for what is pushed and reduced before it goes: a rank that enqueued them
// first would wait for ever for room in its queue.
TEST_P(FabricWireTest, StagedCallsThatFillTheQueuesOfStreamsAreRight) {
  const auto calls = [](Team& team, CollectiveSession& session) {
    for (const CollectiveKind kind : kOverRails) {
      run_calls(team, plans_of(session), collective_of(kind, 6 * kSmallestChunk / 4 + 1), {2});
    }
  };
  on_nodes(2, calls, true, 2, 2);
}

// Of nothing, and of fewer elements than ranks: columns in which some parts are empty, or all.
TEST_P(FabricWireTest, MessagesWithoutBytes) {
  const auto calls = [](Team& team, CollectiveSession& session) {
    for (const CollectiveKind kind : kOverRails) {
      for (const std::uint64_t count : {0u, 1u, 3u, 5u}) {
        SCOPED_TRACE(std::string(name(kind)) + " of " + std::to_string(count));
        run_calls(team, plans_of(session), collective_of(kind, count), {3});
      }
    }
  };
  for (const bool staged : {false, true}) on_nodes(2, calls, staged, 2);
}

TEST_P(FabricWireTest, TwoSessionsRunBesideEachOther) {
  on_nodes(2, [](Team& team, CollectiveSession& first) {
    const auto second = make_kernel_collectives()->open(team);
    run_beside(team, plans_of(first), collective_of(CollectiveKind::all_gather, 70001),
               plans_of(*second), collective_of(CollectiveKind::all_to_all, 333), 30);
  });
}

// A rank that fails ends the others' waits, also for a slot where all are full, and a new session
// works.
TEST_P(FabricWireTest, AFailureEndsTheSessionAndAnotherCanBeOpened) {
  const Collective c = collective_of(CollectiveKind::all_gather, 8 * kSmallestChunk);
  const auto fail_and_go_on = [&](Team& team, CollectiveSession& session) {
    EXPECT_TRUE(session.usable());
    EXPECT_THROW(team.each([&](Rank& rank) {
      Calls calls(rank, plans_of(session), c, 1);
      if (rank.index == 1) throw Mismatch("rank 1 does not come");
      try {
        calls.enqueue(0);
        team.barrier("rank 1, which does not come");
      } catch (const Error&) {
        rank.device.finish(60);  // with the call's buffers, which end here
        throw;
      }
    }),
                 Error);
    EXPECT_FALSE(session.usable());
    EXPECT_THROW(run_calls(team, plans_of(session), c, {1}), PeerFailed);
    const auto again = make_dma_collectives()->open(team);
    run_calls(team, plans_of(*again), c, {2});
  };
  for (const bool staged : {false, true}) on_nodes(2, fail_and_go_on, staged);
}

// A message of the source to the next node's region, as the only one of a wire.
WireTraffic one_message(const NodeRank& rank, const Span& source) {
  WireTraffic traffic;
  traffic.region_bytes = source.bytes;
  traffic.sources = {source};
  traffic.messages.push_back({rank.node_after(1), {{source, 0}}, false});
  traffic.arrivals.push_back({source.bytes});
  return traffic;
}

Fill sent_by(int rank) { return {FillKind::pattern, static_cast<std::uint64_t>(rank), 0}; }

// A call of a wire of one message.
void call(Rank& rank, Wire& wire, const Span& source, Stream& stream) {
  stream.fill(source, sent_by(rank.index));
  wire.begin(stream);
  wire.enqueue(stream, 0);
  stream.handshake({{}, {wire.come(0)}});
  wire.end(stream);
  stream.synchronize(60);
  const int from = (rank.index + rank.size - 1) % rank.size;
  EXPECT_FALSE(rank.device.check(wire.region(), sent_by(from)).has_value());
}

// Plans are made on all ranks or on none, and the next ones must get equal numbers everywhere.
TEST_P(FabricWireTest, AWireThatOneRankCannotAllocateDoesNotHinderTheNext) {
  on_nodes(2, [](Team& team, CollectiveSession&) {
    OwnWires wires(team);
    team.each([&](Rank& rank) {
      NodeRank own = wires.rank_of(rank);
      const Buffer source = rank.device.allocate(1000);
      const WireTraffic traffic = one_message(own, source.span());
      WireTraffic too_large = traffic;
      if (rank.index == 1) too_large.region_bytes = std::uint64_t{1} << 60;
      EXPECT_THROW(wires.make(own, too_large), Error);
      const auto wire = wires.make(own, traffic);
      call(rank, *wire, source.span(), *rank.device.make_stream());
      team.barrier("all ranks to have checked");
    });
  });
}

// Rank 0 has messages to rank 1 and from rank 3, and ends before rank 2 has begun.
TEST_P(FabricWireTest, AWireMayEndBeforeRanksThatSendItNothingHaveBegun) {
  on_nodes(4, [](Team& team, CollectiveSession&) {
    OwnWires wires(team);
    team.each([&](Rank& rank) {
      NodeRank own = wires.rank_of(rank);
      const Buffer source = rank.device.allocate(1000);
      auto wire = wires.make(own, one_message(own, source.span()));
      if (rank.index == 2) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      call(rank, *wire, source.span(), *rank.device.make_stream());
      wire.reset();
      team.barrier("all ranks to have checked");
    });
  });
}

// The source is overwritten as soon as that is allowed, and the region read as soon as it has come.
TEST_P(FabricWireTest, AStagedMessageHasGoneAndComeWithItsLastChunk) {
  on_nodes(2, [](Team& team, CollectiveSession&) {
    OwnWires wires(team);
    team.each([&](Rank& rank) {
      NodeRank own = wires.rank_of(rank);
      const Buffer source = rank.device.allocate(16 * kSmallestChunk);
      const Buffer read = rank.device.allocate(source.bytes());
      WireTraffic traffic = one_message(own, source.span());
      traffic.messages[0].staged = traffic.messages[0].tells_gone = true;
      const auto wire = wires.make<StagedWire>(own, traffic);
      const auto stream = rank.device.make_stream(), reader = rank.device.make_stream();
      for (int round = 0; round < 3; ++round) {
        stream->fill(source.span(), sent_by(rank.index + 2 * round));
        wire->begin(*stream);
        stream->handshake({{wire->go(0)}, {}});
        wire->enqueue(*stream, 0);
        stream->handshake({{}, {wire->gone(0)}});
        stream->fill(source.span(), sent_by(-1));
        reader->handshake({{}, {wire->come(0)}});
        reader->copy({read.span(), wire->region(), Executor::dma, {}});
        wire->end(*stream);
        stream->synchronize(60);
        reader->synchronize(60);
        EXPECT_FALSE(rank.device.check(read.span(), sent_by(1 - rank.index + 2 * round)));
      }
      team.barrier("all ranks to have checked");
    });
  });
}

// One wire is kept, while more than there are numbers of wires are made and ended.
TEST_P(FabricWireTest, NumbersOfWiresThatHaveEndedAreUsedAgain) {
  if (GetParam() != std::string("shm"))
    GTEST_SKIP() << "the numbers are no provider's: shm is enough";
  on_nodes(2, [](Team& team, CollectiveSession&) {
    OwnWires wires(team);
    team.each([&](Rank& rank) {
      NodeRank own = wires.rank_of(rank);
      const Buffer source = rank.device.allocate(8);
      const WireTraffic traffic = one_message(own, source.span());
      const auto stream = rank.device.make_stream();
      const auto kept = wires.make(own, traffic);
      for (std::uint32_t i = 0; i + 1 < WireImmediate::kWires; ++i) wires.make(own, traffic);
      for (int i = 0; i < 3; ++i) {
        const auto next = wires.make(own, traffic);
        call(rank, *next, source.span(), *stream);
        call(rank, *kept, source.span(), *stream);
      }
      team.barrier("all ranks to have checked");
    });
  });
}

TEST_P(FabricWireTest, TooManyMessagesAreRefused) {
  on_nodes(2, [](Team& team, CollectiveSession&) {
    OwnWires wires(team);
    team.each([&](Rank& rank) {
      NodeRank own = wires.rank_of(rank);
      const Buffer source = rank.device.allocate(1);
      WireTraffic traffic = one_message(own, source.span());
      traffic.slots = 1;
      traffic.messages.resize(WireImmediate::kNumbers, traffic.messages[0]);
      traffic.arrivals.resize(WireImmediate::kNumbers, traffic.arrivals[0]);
      EXPECT_THROW(wires.make(own, traffic), Unavailable);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Providers, FabricWireTest, ::testing::Values("tcp;ofi_rxm", "shm"),
                         [](const auto& provider) {
                           return std::string(provider.param).substr(0, 3);
                         });

}  // namespace
}  // namespace duet
