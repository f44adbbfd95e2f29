// The simulated ranks: their order, the clock, deadlocks, failures.
#include "device/sim/scheduler.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "core/message_fixture.h"

namespace duet::sim {
namespace {

class SimScheduling : public ::testing::Test {
 protected:
  void barrier() {
    const int mine = arrived_ / ranks_ * ranks_ + ranks_;
    scheduler_.update([&] { ++arrived_; });
    scheduler_.wait("the barrier", 60, [&] { return arrived_ >= mine; });
  }

  VirtualClock clock_;
  SimScheduler scheduler_{clock_, [] { return std::string("; a stream waits for a semaphore"); }};
  int ranks_ = 3;
  int arrived_ = 0;
};

TEST_F(SimScheduling, RanksRunOneAtATimeInRankOrder) {
  std::string order;
  scheduler_.run(ranks_, [&](int rank) {
    for (int step = 0; step < 3; ++step) {
      order += static_cast<char>('a' + rank);
      barrier();
    }
  });
  EXPECT_EQ(order, "abcabcabc");
}

TEST_F(SimScheduling, TimePassesOnlyWhenAllWait) {
  bool rung = false;
  clock_.after(1, [&] { rung = true; });
  double seen[3] = {};
  scheduler_.run(ranks_, [&](int rank) {
    EXPECT_EQ(clock_.now(), 0);
    scheduler_.wait("the bell", 10, [&] { return rung; });
    seen[rank] = clock_.now();
  });
  for (double time : seen) EXPECT_EQ(time, 1);
}

TEST_F(SimScheduling, TheProgramAloneJustWaits) {
  bool rung = false;
  clock_.after(5, [&] { rung = true; });
  scheduler_.wait("the bell", 10, [&] { return rung; });
  EXPECT_EQ(clock_.now(), 5);
}

TEST_F(SimScheduling, DeadlinesAreVirtual) {
  bool rung = false;
  clock_.after(5, [&] { rung = true; });
  EXPECT_THROW(scheduler_.wait("the bell", 2, [&] { return rung; }), Timeout);
  EXPECT_EQ(clock_.now(), 2);
  scheduler_.wait("the bell", 10, [&] { return rung; });
  EXPECT_EQ(clock_.now(), 5);
}

TEST_F(SimScheduling, ADeadlockIsSeenAtOnceAndNamesAll) {
  const std::string text = message_of<Timeout>([&] {
    scheduler_.run(2, [&](int rank) {
      scheduler_.wait(rank == 0 ? "the chicken" : "the egg", 1e9, [] { return false; });
    });
  });
  for (const char* part : {"deadlock", "rank 0 waits for the chicken", "rank 1 waits for the egg",
                           "a stream waits for a semaphore"}) {
    EXPECT_TRUE(contains(text, part));
  }
  EXPECT_EQ(clock_.now(), 0);
  EXPECT_THROW(scheduler_.wait("nothing", 1e9, [] { return false; }), Timeout);
}

TEST_F(SimScheduling, AFailureTakesOthersOutOfTheirWaits) {
  int left = 0;
  EXPECT_THROW(scheduler_.run(4,
                              [&](int rank) {
                                if (rank == 2) throw Mismatch("wrong data");
                                try {
                                  scheduler_.wait("the others", 60, [] { return false; });
                                } catch (const Error&) {
                                  ++left;
                                  throw;
                                }
                              }),
               Mismatch);
  EXPECT_EQ(left, 2);             // rank 3 did not start
  scheduler_.run(2, [](int) {});  // the scheduler stays usable
}

TEST_F(SimScheduling, AConditionThatThrowsEndsItsWait) {
  EXPECT_THROW(scheduler_.wait("x", 1, []() -> bool { throw Unavailable("gone"); }), Unavailable);
}

TEST_F(SimScheduling, IsNotReentrant) {
  EXPECT_THROW(scheduler_.run(1, [&](int) { scheduler_.run(1, [](int) {}); }), BadArgument);
}

TEST_F(SimScheduling, LookingTakesTimeAndLetsOthersGoOn) {
  bool rung = false;
  clock_.after(1e-4, [&] { rung = true; });
  int polls = 0;
  while (!scheduler_.poll(1e-6, [&] { return rung; })) ++polls;
  EXPECT_NEAR(polls, 100, 1);
  EXPECT_NEAR(clock_.now(), 1e-4, 1e-9);
}

}  // namespace
}  // namespace duet::sim
