// The engine on host devices with a library that moves no data: what it makes, and what it
// enqueues.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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
    const auto session = make_halo_engine(library, Mode{})->open(team);
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
  const auto session = make_halo_engine(library, Mode{})->open(team);
  reset(/*failing=*/true);
  EXPECT_THROW(team.each([&](Rank& rank) {
    session->plan(rank, {{16, 8, 2}, GetParam()});
  }),
               Error);
  EXPECT_EQ(fake_calls().aborted, 2);
}

// Rank 0 has one row more than the others: all register as much.
TEST_P(NcclHalo, FieldsAreWindowsOfOneSize) {
  reset();
  const Library library = fake_library();
  const auto machine = open_machine("host:3");
  Team team(*machine);
  const auto engine = make_halo_engine(library, {"-window", "symmetric windows", true});
  EXPECT_EQ(engine->name(), "nccl-window");
  const auto session = engine->open(team);
  team.each([&](Rank& rank) {
    const auto plan = session->plan(rank, {{16, 10, 3}, GetParam()});
    EXPECT_EQ(plan->shape().rows, rank.index == 0 ? 4 : 3);
    const auto stream = rank.device.make_stream();
    plan->enqueue(*stream, {0, {}, true});
    stream->synchronize(60);
    EXPECT_EQ(plan->algorithm(), "NCCL 2.28.9, grouped sends and receives of windows");
    rank.team.barrier("the other ranks to have ended");
  });
  std::vector<std::string> windows = fake_calls().windows;
  std::sort(windows.begin(), windows.end());
  // Two fields of 6 rows of 16 points.
  const std::vector<std::string> expected = {"rank 0: 768 bytes", "rank 1: 768 bytes",
                                             "rank 2: 768 bytes"};
  EXPECT_EQ(windows, expected);
  EXPECT_EQ(fake_calls().allocations, 0);
  EXPECT_EQ(fake_calls().windows_open, 0);
}

TEST(NcclWindowHalo, NeedsALibraryThatHasWindows) {
  const Library library = fake_library(22600);
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto engine = make_halo_engine(library, {"-window", "symmetric windows", true});
  EXPECT_THROW(engine->open(team), Unavailable);
}

INSTANTIATE_TEST_SUITE_P(Overlap, NcclHalo, ::testing::Bool());

}  // namespace
}  // namespace duet::nccl
