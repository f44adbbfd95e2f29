// The engines over the fake library: what is put where, and in which order, to the bit.
#include "halo/nvshmem/engine.h"

#include <gtest/gtest.h>

#include "collectives/engine.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "fake_gpu/nvshmem/halo.h"
#include "halo/exchange_fixture.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet::nvshmem {
namespace {

class NvshmemHalo : public ::testing::TestWithParam<Put> {
 protected:
  static Sampling measure(const char* device, Put put, const HaloSettings& settings,
                          FakeFault fault = FakeFault::none) {
    const auto machine = open_machine(device);
    Team team(*machine);
    const auto session = make_halo_engine(fake_halo_calls(fault), put, "host")->open(team);
    const auto gathers = engines_named(*machine, {"kernel"}).front()->open(team);
    HaloWork work(team, *session, gathers.get(), settings);
    return Sampler(team).measure(work, short_loop(1));
  }
};

TEST_P(NvshmemHalo, IsExactOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3}) {
    const std::string device = "host:" + std::to_string(ranks);
    const HaloGrid grids[] = {{3, ranks, ranks}, {37, 2 * ranks + 1, ranks}, {64, 5, 1}};
    for (const HaloGrid& grid : grids) {
      for (const bool overlap : {false, true}) {
        for (const NormMode norm : {NormMode::none, NormMode::delayed}) {
          const auto sampling =
              measure(device.c_str(), GetParam(), settings_of(grid, overlap, norm, false));
          EXPECT_TRUE(sampling.verified) << ranks << " ranks, " << grid.nx << " x " << grid.ny;
        }
      }
    }
  }
}

// Whichever rank of three is late, both its neighbours wait for it.
TEST_P(NvshmemHalo, WaitsForALateNeighbour) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  for (int late = 0; late < 3; ++late) {
    const auto session = make_halo_engine(fake_halo_calls(), GetParam(), "host")->open(team);
    iterate_with_a_slow_rank(team, *session, late);
  }
}

TEST_P(NvshmemHalo, IsExactInAGraph) {
  const HaloGrid grid{33, 9, 3};
  for (const bool overlap : {false, true}) {
    EXPECT_TRUE(
        measure("host:3", GetParam(), settings_of(grid, overlap, NormMode::device, true)).verified);
  }
}

TEST_P(NvshmemHalo, ALostRowIsFound) {
  constexpr FakeFault kFault = FakeFault::loses_last_put;
  const HaloSettings settings = settings_of({37, 9, 3}, false, NormMode::none, false);
  if (GetParam() == Put::signals) {  // its signals are lost with it
    EXPECT_THROW(measure("host:3", GetParam(), settings, kFault), Error);
  } else {
    EXPECT_THROW(measure("host:3", GetParam(), settings, kFault), Mismatch);
  }
}

TEST_P(NvshmemHalo, ALostSignalEndsWithAnErrorThatNamesIt) {
  EXPECT_TRUE(contains(message_of<Error>([&] {
                         measure("host:2", GetParam(),
                                 settings_of({37, 9, 2}, false, NormMode::none, false),
                                 FakeFault::loses_signals);
                       }),
                       "nvshmem: sync: a neighbour's signal did not come"));
}

// The network may deliver a row's pieces behind those of the next one: each row's are counted
// apart.
TEST_P(NvshmemHalo, PutsOfTheNextRowDoNotCount) {
  const HaloSettings settings = settings_of({64, 9, 2}, false, NormMode::none, false);
  EXPECT_TRUE(measure("host:2", GetParam(), settings, FakeFault::late_puts).verified);
}

INSTANTIATE_TEST_SUITE_P(Puts, NvshmemHalo,
                         ::testing::Values(Put::words, Put::blocks, Put::signals));

TEST(NvshmemHaloEngine, SignalsThatOvertakeTheirPutsAreFound) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  const auto session =
      make_halo_engine(fake_halo_calls(FakeFault::signals_before_puts), Put::signals, "host")
          ->open(team);
  HaloSettings settings;
  settings.task = {{64, 9, 3}, false};
  settings.iterations = 10;
  HaloWork work(team, *session, nullptr, settings);
  EXPECT_THROW(Sampler(team).measure(work, short_loop(1)), Mismatch);
}

TEST(NvshmemHaloEngine, HasOneGpuAProcess) {
  HaloCalls calls = fake_halo_calls();
  calls.several_pes_a_process = false;
  const auto machine = open_machine("host:2");
  Team team(*machine);
  EXPECT_EQ(
      message_of<Unavailable>([&] { make_halo_engine(calls, Put::words, "host")->open(team); }),
      "nvshmem: expected one process a GPU, as mpirun -n N starts them; this one has 2 "
      "GPUs");
}

TEST(NvshmemHaloEngine, NamesSayHowRowsArePut) {
  EXPECT_EQ(make_halo_engine(fake_halo_calls(), Put::words, "cuda")->name(), "nvshmem-p");
  EXPECT_EQ(make_halo_engine(fake_halo_calls(), Put::blocks, "cuda")->name(), "nvshmem-block");
  EXPECT_EQ(make_halo_engine(fake_halo_calls(), Put::signals, "cuda")->name(), "nvshmem-signal");
}

}  // namespace
}  // namespace duet::nvshmem
