// The engines over the fake library, to the byte.
#include "collectives/nvshmem/engine.h"

#include <gtest/gtest.h>

#include "collectives/cases.h"
#include "collectives/collective_work.h"
#include "collectives/uneven_counts_fixture.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "fake_gpu/nvshmem/fake.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet::nvshmem {
namespace {

Collective all_to_all_of(std::uint64_t count) {
  Collective one;
  one.kind = CollectiveKind::all_to_all;
  one.count = count;
  return one;
}

// All kinds; parts of an all_to_all_v differ, and some are empty.
std::vector<Collective> all_of(std::uint64_t count, int ranks) {
  std::vector<Collective> all(3, all_to_all_of(count));
  all[1].kind = CollectiveKind::all_gather;
  all[2].kind = CollectiveKind::all_to_all_v;
  all[2].counts = uneven_counts(count, ranks);
  return all;
}

constexpr std::uint64_t kPacket = 1008;  // the last packet of a chunk is shorter

class NvshmemCollectives : public ::testing::TestWithParam<Initiation> {
 protected:
  static std::unique_ptr<CollectiveEngine> engine(FakeFault fault, std::uint64_t packet) {
    auto plain = make_engine(fake_calls(fault), GetParam(), "host");
    auto cut = plain->with_packets(CollectiveKind::all_to_all, packet);
    return cut != nullptr ? std::move(cut) : std::move(plain);
  }

  static Sampling measure(int ranks, const Collective& collective,
                          FakeFault fault = FakeFault::none, const GraphUse& graph = {},
                          std::uint64_t packet = kPacket) {
    const auto machine = open_machine("host:" + std::to_string(ranks));
    Team team(*machine);
    const auto session = engine(fault, packet)->open(team);
    CollectiveWork work(team, *session, collective, false, true, graph);
    return Sampler(team).measure(work, short_loop(2));
  }

  static void expect_exact(int ranks, std::uint64_t count, const GraphUse& graph = {},
                           std::uint64_t packet = kPacket) {
    for (const Collective& each : all_of(count, ranks)) {
      EXPECT_TRUE(measure(ranks, each, FakeFault::none, graph, packet).verified)
          << name(each.kind) << " of " << ranks << " ranks, " << count << ", packets " << packet;
    }
  }
};

TEST_P(NvshmemCollectives, AreExactOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::uint64_t count : {1, 1003, 4096}) expect_exact(ranks, count);
  }
}

TEST_P(NvshmemCollectives, AreExactInPacketsOfAnySize) {
  for (const std::uint64_t packet : {16, 4096, 1 << 20}) expect_exact(3, 2048, {}, packet);
}

TEST_P(NvshmemCollectives, AreExactInAGraph) { expect_exact(3, 1003, {2, 3}); }

TEST_P(NvshmemCollectives, ALostPutIsFound) {
  for (const Collective& each : all_of(1003, 3)) {
    // Where each packet has a signal, that is lost with it.
    if (GetParam() == Initiation::grid && each.kind != CollectiveKind::all_to_all_v) {
      EXPECT_THROW(measure(3, each, FakeFault::loses_last_put), Error) << name(each.kind);
    } else {
      EXPECT_THROW(measure(3, each, FakeFault::loses_last_put), Mismatch) << name(each.kind);
    }
  }
}

TEST_P(NvshmemCollectives, ALostSignalEndsWithAnErrorThatNamesIt) {
  const char* const expected = GetParam() == Initiation::stream
                                   ? "nvshmem: sync_all: a PE did not come"
                                   : "nvshmem: put_packets: a PE's signal did not come";
  for (const Collective& each : all_of(1003, 2)) {
    const auto lost = [&] { measure(2, each, FakeFault::loses_signals); };
    EXPECT_TRUE(contains(message_of<Error>(lost), expected)) << name(each.kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, NvshmemCollectives,
                         ::testing::Values(Initiation::stream, Initiation::block,
                                           Initiation::grid));

TEST(NvshmemGrid, SignalsThatOvertakeTheirPutsAreFound) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  const auto session =
      make_engine(fake_calls(FakeFault::signals_before_puts), Initiation::grid, "host")->open(team);
  CollectiveWork work(team, *session, all_to_all_of(1003), false);
  EXPECT_THROW(Sampler(team).measure(work, short_loop(2)), Mismatch);
}

TEST(NvshmemSession, RunsThreeKindsOutOfPlace) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = make_engine(fake_calls(), Initiation::stream, "host")->open(team);
  for (const CollectiveKind kind : all_collectives()) {
    Collective one = all_to_all_of(16);
    one.kind = kind;
    EXPECT_EQ(!session->unsupported(one, false), kind == CollectiveKind::all_gather ||
                                                     kind == CollectiveKind::all_to_all ||
                                                     kind == CollectiveKind::all_to_all_v);
    EXPECT_TRUE(session->unsupported(one, true).has_value());
  }
}

TEST(NvshmemSession, RefusesBuffersThatAreNotSymmetric) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = make_engine(fake_calls(), Initiation::stream, "host")->open(team);
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
  EXPECT_EQ(
      message_of<Unavailable>([&] { make_engine(calls, Initiation::grid, "host")->open(team); }),
      "nvshmem: expected one process a GPU, as mpirun -n N starts them; this one has 2 "
      "GPUs");
}

TEST(NvshmemEngine, NamesSayWhoPutsAndInWhat) {
  const auto named = [](Initiation initiation) {
    return make_engine(fake_calls(), initiation, "cuda");
  };
  EXPECT_EQ(named(Initiation::stream)->name(), "nvshmem");
  EXPECT_EQ(named(Initiation::block)->name(), "nvshmem-block");
  EXPECT_EQ(named(Initiation::grid)->name(), "nvshmem-grid");
  constexpr auto kKind = CollectiveKind::all_to_all_v;
  EXPECT_EQ(named(Initiation::stream)->with_packets(kKind, 4096), nullptr);
  EXPECT_EQ(named(Initiation::grid)->with_packets(kKind, 4096)->name(),
            "nvshmem-grid-packets-4096");
  EXPECT_EQ(named(Initiation::grid)->with_packets(CollectiveKind::broadcast, 4096), nullptr);
}

// The benchmark with the engines over the fake, registered once for this program.
CollectiveOptions options_with(std::vector<std::uint64_t> packets) {
  static const bool registered = [] {
    for (const Initiation initiation : {Initiation::stream, Initiation::block, Initiation::grid}) {
      register_collective_engine(make_engine(fake_calls(), initiation, "host"));
    }
    return true;
  }();
  static_cast<void>(registered);
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_to_all};
  options.engines = {"nvshmem", "nvshmem-block", "nvshmem-grid", "dma"};
  options.sizes = {8192, 65536};
  options.in_place = {false};
  options.packets = std::move(packets);
  options.device_name = "host:2";
  options.mode = short_loop(2);
  return options;
}

TEST(NvshmemCases, HavePacketsAsAnAxis) {
  const auto machine = open_machine("host:2");
  const Benchmark benchmark =
      collective_benchmark(*machine, options_with({1 << 20, 4096, 16384, 4096}), {});
  std::vector<std::string> seen;
  std::vector<Finished> finished;
  for (const Case& one : benchmark.cases) {
    const std::int64_t packet = one.id.axes.number("packet").value_or(0);
    seen.push_back(one.id.engine + " " + std::to_string(*one.id.axes.number("bytes")) + " " +
                   std::to_string(packet));
    const Measurement result = one.run();
    ASSERT_TRUE(result.sampling.has_value()) << seen.back();
    EXPECT_TRUE(result.sampling->verified) << seen.back();
    finished.push_back({one.id, 1e-6, result.cost});
  }
  // Of two ranks a call of 8 KiB has chunks of 4 KiB, which one packet holds.
  EXPECT_EQ(seen,
            (std::vector<std::string>{
                "nvshmem 8192 0", "nvshmem-block 8192 4096", "nvshmem-grid 8192 4096", "dma 8192 0",
                "nvshmem 65536 0", "nvshmem-block 65536 4096", "nvshmem-block 65536 16384",
                "nvshmem-block 65536 1048576", "nvshmem-grid 65536 4096",
                "nvshmem-grid 65536 16384", "nvshmem-grid 65536 1048576", "dma 65536 0"}));
  benchmark.conclude(finished);
}

TEST(NvshmemCases, SkipWhatTheyDoNotRun) {
  const auto machine = open_machine("host:2");
  CollectiveOptions options = options_with({4096, 16384});
  options.kinds = {CollectiveKind::broadcast};
  options.engines = {"nvshmem-grid"};
  const Benchmark benchmark = collective_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 2u);  // one for each size
  const Measurement result = benchmark.cases[0].run();
  ASSERT_TRUE(result.skipped.has_value());
  EXPECT_EQ(result.skipped->reason,
            "by NVSHMEM Duet runs all_gather, all_to_all and all_to_all_v, not broadcast");
  benchmark.conclude({});
}

TEST(NvshmemCases, RefusePacketsThatCannotBe) {
  const auto machine = open_machine("host:2");
  EXPECT_THROW(collective_benchmark(*machine, options_with({4096, 24}), {}), UsageError);
  EXPECT_THROW(collective_benchmark(*machine, options_with({0}), {}), UsageError);
  CollectiveOptions plain = options_with({4096});
  plain.engines = {"dma"};
  EXPECT_THROW(collective_benchmark(*machine, plain, {}), UsageError);
}

}  // namespace
}  // namespace duet::nvshmem
