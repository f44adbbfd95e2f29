// Moves straight into peers' memory, with the local copy at once and deferred.
#include <gtest/gtest.h>

#include "collectives/peer/plans_fixture.h"
#include "collectives/schedule/local_copy.h"
#include "collectives/session/calls_fixture.h"

namespace duet {
namespace {

class Moves : public ::testing::TestWithParam<const char*> {
 protected:
  Moves() {
    for (int local = 0; local < team_.local_size(); ++local) {
      lanes_.push_back(
          std::make_unique<SideStreams>(team_.local_rank(local).device, CopyLanes{2, true}));
    }
  }

  MakePlan behind(std::size_t defer_bytes) {
    return [this, defer_bytes](Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
      return plan_by(direct_moves(), rank, c, buffers,
                     {watchdog_, lanes_[static_cast<std::size_t>(rank.local)].get()},
                     [&](AlgorithmInput& input) { input.defer_bytes = defer_bytes; });
    };
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  Watchdog watchdog_{team_};
  std::vector<std::unique_ptr<SideStreams>> lanes_;
};

TEST_P(Moves, WithADeferredLocalCopy) {
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                    CollectiveKind::gather, CollectiveKind::scatter}) {
    for (const std::uint64_t count : {16, 4096, 300000, 300007}) {
      for (const std::size_t defer_bytes : {1, 64, 5000, 1 << 20}) {
        run_calls(team_, behind(defer_bytes), collective_of(kind, count), {3});
      }
    }
  }
}

TEST_P(Moves, CapturedWithADeferredLocalCopy) {
  run_calls(team_, behind(1000), collective_of(CollectiveKind::all_gather, 65536),
            {30, false, 0, 3});
  run_calls(team_, behind(1000), collective_of(CollectiveKind::all_to_all, 65536),
            {30, false, 0, 3});
}

TEST_P(Moves, OfUnevenPartsOneOfThemFirst) {
  Collective c = collective_of(CollectiveKind::all_to_all_v, 1);
  const int ranks = team_.size();
  for (int pair = 0; pair < ranks * ranks; ++pair) {
    const bool own = pair / ranks == pair % ranks;
    c.counts.push_back(own ? 8192 : static_cast<std::uint64_t>(pair % 3) * 700);
  }
  for (const std::size_t defer_bytes : {1, 1000, 8000}) {
    run_calls(team_, behind(defer_bytes), c, {3});
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Moves,
                         machines_of({"host:2", "host:3", "sim:h200-4", "sim:mi300x-8"}),
                         machine_label);

TEST(LocalCopyMethodOf, CallsIsCopiedByWhatSuitsThem) {
  EXPECT_EQ(choose_local_copy(1024, true, true, 1024), LocalCopyMethod::one_warp_per_sm);
  EXPECT_EQ(choose_local_copy(1024, true, true, 1000), LocalCopyMethod::one_warp_per_sm_deferred);
  EXPECT_EQ(choose_local_copy(1024, true, false, 1000), LocalCopyMethod::few_blocks);
  EXPECT_EQ(choose_local_copy(1024, false, true, 1000), LocalCopyMethod::few_blocks);
  const auto machine = open_machine("host");
  const Buffer buffer = machine->device(0).allocate(4096);
  EXPECT_TRUE(aligned_alike(buffer.slice(2048, 1024), buffer.slice(0, 1024)));
  EXPECT_FALSE(aligned_alike(buffer.slice(2049, 1024), buffer.slice(0, 1024)));
}

}  // namespace
}  // namespace duet
