// Duet's HIP device gives back what it takes of the runtime.
#include <gtest/gtest.h>

#include "collectives/collective_work.h"
#include "collectives/engine.h"
#include "device/machine.h"
#include "runtime.h"
#include "timing/sampler.h"

namespace duet {
namespace {

// The stand-in for RCCL is of a version that has no symmetric windows.
bool needs_windows(const CollectiveEngine& engine) {
  return engine.name() == "rccl-window" || engine.name() == "rccl-zero-cta";
}

void measure(CollectiveEngine& engine, Team& team) {
  Collective collective;
  collective.kind = CollectiveKind::all_gather;
  collective.count = 10'000;
  const auto session = engine.open(team);
  CollectiveWork work(team, *session, collective, false);
  Mode mode;
  mode.warm_up_seconds = 0;
  mode.min_iterations = mode.max_iterations = 3;
  EXPECT_TRUE(Sampler(team).measure(work, mode).verified);
}

TEST(Leaks, NoMemoryAndNoStreamIsLeftAfterCollectives) {
  ASSERT_EQ(standin::live(), standin::Live{}) << "before";
  {
    const auto machine = open_machine("hip");
    Team team(*machine);
    for (CollectiveEngine* engine : collective_engines("hip").engines) {
      if (!needs_windows(*engine)) measure(*engine, team);
    }
    EXPECT_NE(standin::live(), standin::Live{}) << "the device has its own";
  }
  EXPECT_EQ(standin::live(), standin::Live{});
}

}  // namespace
}  // namespace duet
