// The engines over the fake library, to the byte.
#include "collectives/nvshmem/engine.h"

#include <gtest/gtest.h>

#include "collectives/collective_work.h"
#include "collectives/nvshmem/fake.h"
#include "core/error.h"
#include "timing/sampler.h"

namespace duet::nvshmem {
namespace {

Mode short_mode() {
  Mode mode = loop_mode();
  mode.iterations = 2;
  mode.warm_up_iterations = 1;
  mode.min_iterations = mode.max_iterations = 2;
  return mode;
}

Collective all_to_all_of(std::uint64_t count) {
  Collective one;
  one.kind = CollectiveKind::all_to_all;
  one.count = count;
  return one;
}

class NvshmemCollectives : public ::testing::Test {
 protected:
  static Sampling measure(int ranks, std::uint64_t count, FakeFault fault = FakeFault::none,
                          const GraphUse& graph = {}) {
    const auto machine = open_machine("host:" + std::to_string(ranks));
    Team team(*machine);
    const auto session = make_engine(fake_calls(fault), "host")->open(team);
    CollectiveWork work(team, *session, all_to_all_of(count), false, true, graph);
    return Sampler(team).measure(work, short_mode());
  }
};

TEST_F(NvshmemCollectives, AreExactOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::uint64_t count : {1, 1003, 4096}) {
      EXPECT_TRUE(measure(ranks, count).verified) << ranks << " ranks, " << count;
    }
  }
}

TEST_F(NvshmemCollectives, AreExactInAGraph) {
  EXPECT_TRUE(measure(3, 1003, FakeFault::none, {2, 3}).verified);
}

TEST_F(NvshmemCollectives, ALostPutIsFound) {
  EXPECT_THROW(measure(3, 1003, FakeFault::loses_last_put), Mismatch);
}

TEST_F(NvshmemCollectives, ALostSignalEndsWithAnErrorThatNamesIt) {
  try {
    measure(2, 1003, FakeFault::loses_signals);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nvshmem: sync_all: a PE did not come"),
              std::string::npos)
        << error.what();
  }
}

TEST(NvshmemSession, RunsAllToAllOutOfPlace) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = make_engine(fake_calls(), "host")->open(team);
  for (const CollectiveKind kind : all_collectives()) {
    Collective one = all_to_all_of(16);
    one.kind = kind;
    EXPECT_EQ(session->unsupported(one, false).has_value(), kind != CollectiveKind::all_to_all);
    EXPECT_TRUE(session->unsupported(one, true).has_value());
  }
}

TEST(NvshmemSession, RefusesBuffersThatAreNotSymmetric) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = make_engine(fake_calls(), "host")->open(team);
  const Collective one = all_to_all_of(16);
  const auto plan = [&](bool allocated, std::uint64_t offset_of_rank_1) {
    team.each([&](Rank& rank) {
      const auto send = session->allocate(rank, 256), recv = session->allocate(rank, 256);
      const Buffer plain = rank.device.allocate(256);
      const Span to = allocated ? recv->span() : plain.span();
      const std::uint64_t offset = rank.index == 1 ? offset_of_rank_1 : 0;
      session->plan(rank, one, {send->span(), to.slice(offset, 128)});
    });
  };
  EXPECT_NO_THROW(plan(true, 0));
  EXPECT_THROW(plan(false, 0), BadArgument);
  EXPECT_THROW(plan(true, 64), BadArgument);
}

TEST(NvshmemEngine, HasOneGpuAProcess) {
  Calls calls = fake_calls();
  calls.several_pes_a_process = false;
  const auto machine = open_machine("host:2");
  Team team(*machine);
  try {
    make_engine(calls, "host")->open(team);
    FAIL() << "expected an error";
  } catch (const Unavailable& error) {
    EXPECT_STREQ(error.what(),
                 "nvshmem: expected one process a GPU, as mpirun -n N starts them; this one has 2 "
                 "GPUs");
  }
}

}  // namespace
}  // namespace duet::nvshmem
