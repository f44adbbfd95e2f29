// Cases that a single checked call does not cover: calls in a row without host synchronisation,
// two sessions at once, and ranks that disagree.
#include <gtest/gtest.h>

#include "collectives/own_engines.h"
#include "collectives/session/calls_fixture.h"
#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

class Dma : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  std::unique_ptr<CollectiveEngine> engine_ = make_dma_collectives();
};

TEST_P(Dma, AThousandCallsInARowEachLeaveTheirOwn) {
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    const auto session = engine_->open(team_);
    run_calls(team_, plans_of(*session), collective_of(kind, 37), {1000});
  }
}

// The preceding kernel has just written the data, which fit in a GPU's L2. Copy engines must see
// data that have not reached device memory yet.
TEST_P(Dma, SendsWhatTheKernelBeforeItHasJustWritten) {
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    const auto session = engine_->open(team_);
    run_calls(team_, plans_of(*session), collective_of(kind, 128 << 10), {12});
  }
}

// For every engine. Some of the calls are graph launches; the calls between them are enqueued
// directly.
TEST_P(Dma, AHundredCallsSomeOfAGraphEachLeaveTheirOwn) {
  for (const auto make : {make_dma_collectives, make_kernel_collectives, make_auto_collectives}) {
    const auto session = make()->open(team_);
    run_calls(team_, plans_of(*session), collective_of(CollectiveKind::all_to_all, 1001),
              {100, false, 0, 2});
  }
}

TEST_P(Dma, TwoSessionsRunBesideEachOther) {
  const auto first = engine_->open(team_), second = engine_->open(team_);
  run_beside(team_, plans_of(*first), collective_of(CollectiveKind::all_gather, 1001),
             plans_of(*second), collective_of(CollectiveKind::all_to_all, 333), 100);
}

Fill pattern_of(std::uint64_t round, int rank) {
  return {FillKind::pattern, 1000 * round + static_cast<std::uint64_t>(rank)};
}

// Calls in turns with the plan's buffers and with others, of which no other rank is told; plans
// whose buffers others reach refuse those, and go on.
TEST_P(Dma, SomeCallsTakeOtherBuffers) {
  for (const bool by_copies : {true, false}) {
    const auto session =
        (by_copies ? make_dma_collectives() : make_kernel_collectives())->open(team_);
    team_.each([&](Rank& rank) {
      const std::string kind = rank.device.info().kind;
      const bool by_packets = !by_copies && (kind == "cuda" || kind == "hip");
      const Collective one = collective_of(CollectiveKind::all_gather, 1001);
      const std::uint64_t part = send_bytes(one, rank.index, rank.size),
                          all = part * static_cast<std::uint64_t>(rank.size);
      const Buffer send = rank.device.allocate(part), recv = rank.device.allocate(all),
                   others = rank.device.allocate(part + all + 1);
      const Span sent = others.slice(1, part), received = others.slice(1 + part, all);
      const auto plan = session->plan(rank, one, {send.span(), recv.span()});
      EXPECT_EQ(plan->takes_buffers(), rank.size == 1 ? by_copies : by_packets);
      const auto stream = rank.device.make_stream();
      for (std::uint64_t round = 0; round < 6; ++round) {
        const bool moved = round % 2 == 1 && plan->takes_buffers();
        stream->fill(moved ? sent : send.span(), pattern_of(round, rank.index));
        if (moved) {
          plan->enqueue_at(*stream, {sent.data, received.data});
        } else {
          EXPECT_THROW(plan->enqueue_at(*stream, {sent.data, nullptr}), BadArgument);
          plan->enqueue(*stream);
        }
        stream->synchronize(60);
        const Span& got = moved ? received : recv.span();
        for (int from = 0; from < rank.size; ++from) {
          const Span its = got.slice(static_cast<std::size_t>(from) * part, part);
          EXPECT_FALSE(rank.device.check(its, pattern_of(round, from)).has_value())
              << round << ", from rank " << from;
        }
        team_.barrier("all ranks to have checked");
      }
    });
  }
}

TEST_P(Dma, RanksThatDisagreeAreToldWhoWantsWhat) {
  if (team_.size() < 2) GTEST_SKIP() << "one rank";
  const auto session = engine_->open(team_);
  EXPECT_EQ(message_of<BadArgument>([&] {
              team_.each([&](Rank& rank) {
                const std::uint64_t count = rank.index == 1 ? 8 : 4;
                Calls(rank, plans_of(*session), collective_of(CollectiveKind::all_gather, count),
                      1);
              });
            }),
            "ranks ask for different things: rank 0 for all_gather of 4 x int8, sum, root 0, "
            "counts [], rank 1 for all_gather of 8 x int8, sum, root 0, counts []");
}

INSTANTIATE_TEST_SUITE_P(Machines, Dma,
                         machines_of({"host:1", "host:4", "sim:h200-4", "sim:mi300x-8"}),
                         machine_label);

}  // namespace
}  // namespace duet
