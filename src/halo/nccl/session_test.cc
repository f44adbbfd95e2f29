// The engine on host devices with a library that moves no data: what it makes, and what it
// enqueues.
#include <gtest/gtest.h>

#include "collectives/nccl/fake.h"
#include "core/error.h"
#include "halo/nccl/engine.h"

namespace duet::nccl {
namespace {

class NcclHalo : public ::testing::TestWithParam<bool> {};

TEST_P(NcclHalo, ExchangesOnceAnIterationAndOnceToConnect) {
  reset();
  const Library library = fake_library();
  const auto machine = open_machine("host:3");
  Team team(*machine);
  {
    const auto session = make_halo_engine(library)->open(team);
    EXPECT_EQ(fake_calls().comms, 3);
    team.each([&](Rank& rank) {
      const auto plan = session->plan(rank, {{16, 9, 3}, GetParam()});
      const auto stream = rank.device.make_stream();
      plan->enqueue(*stream, {0, {}, true});
      plan->enqueue(*stream, {1, {}, false});
      stream->synchronize(60);
      EXPECT_EQ(plan->algorithm(), "NCCL 2.28.9, grouped sends and receives");
      rank.team.barrier("the other ranks to have ended");
    });
    // Six calls an exchange, three exchanges, three ranks.
    EXPECT_EQ(fake_calls().calls.size(), 54u);
  }
  EXPECT_EQ(fake_calls().destroyed, 3);
  EXPECT_EQ(fake_calls().aborted, 0);
}

TEST_P(NcclHalo, AnErrorAbortsAllRanks) {
  reset();
  const Library library = fake_library();
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = make_halo_engine(library)->open(team);
  reset(/*failing=*/true);
  EXPECT_THROW(team.each([&](Rank& rank) {
    session->plan(rank, {{16, 8, 2}, GetParam()});
  }),
               Error);
  EXPECT_EQ(fake_calls().aborted, 2);
}

INSTANTIATE_TEST_SUITE_P(Overlap, NcclHalo, ::testing::Bool());

}  // namespace
}  // namespace duet::nccl
