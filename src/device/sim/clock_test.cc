// The virtual clock: order of events, flows that change rate, units, waves.
#include "device/sim/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>

namespace duet::sim {
namespace {

void run(VirtualClock& clock) {
  while (clock.step()) {
  }
}

Flow over(int resource, double amount) {
  Flow flow;
  flow.amount = amount;
  flow.uses = {{resource, 1}};
  return flow;
}

TEST(VirtualClock, TimersHappenInOrder) {
  VirtualClock clock;
  std::string order;
  clock.after(2, [&] { order += 'c'; });
  clock.after(1, [&] { order += 'a'; });
  clock.after(1, [&] {
    order += 'b';
    clock.after(0, [&] { order += 'x'; });
  });
  run(clock);
  EXPECT_EQ(order, "abxc");
  EXPECT_EQ(clock.now(), 2);
  EXPECT_FALSE(clock.step());
}

TEST(VirtualClock, StepsNoFurtherThanTheLimit) {
  VirtualClock clock;
  clock.after(2, [] {});
  EXPECT_FALSE(clock.step(1));
  EXPECT_EQ(clock.now(), 0);
  clock.skip_to(1);
  EXPECT_EQ(clock.now(), 1);
  EXPECT_TRUE(clock.step(2));
}

TEST(VirtualClock, CancelledThingsDoNotHappen) {
  VirtualClock clock;
  const int link = clock.add_resource(1);
  bool happened = false;
  clock.cancel(clock.after(1, [&] { happened = true; }));
  clock.cancel(clock.start(over(link, 5), [&] { happened = true; }));
  double end = 0;
  clock.start(over(link, 5), [&] { end = clock.now(); });
  run(clock);
  EXPECT_FALSE(happened);
  EXPECT_EQ(end, 5);
}

// A timer cancels another one of the same time.
TEST(VirtualClock, CancelsWhatIsAboutToHappen) {
  VirtualClock clock;
  bool happened = false;
  VirtualClock::Id second = 0;
  clock.after(1, [&] { clock.cancel(second); });
  second = clock.after(1, [&] { happened = true; });
  run(clock);
  EXPECT_FALSE(happened);
}

TEST(VirtualClock, FlowsSpeedUpWhenOthersEnd) {
  VirtualClock clock;
  const int link = clock.add_resource(10);
  double first = 0, second = 0;
  clock.start(over(link, 20), [&] { first = clock.now(); });
  clock.start(over(link, 60), [&] { second = clock.now(); });
  run(clock);
  EXPECT_DOUBLE_EQ(first, 4);   // both progress at 5
  EXPECT_DOUBLE_EQ(second, 8);  // 20 at a rate of 5, then 40 at 10
}

TEST(VirtualClock, AFlowThatComesLaterSlowsTheFirst) {
  VirtualClock clock;
  const int link = clock.add_resource(10);
  double first = 0, second = 0;
  clock.start(over(link, 40), [&] { first = clock.now(); });
  clock.after(2, [&] { clock.start(over(link, 10), [&] { second = clock.now(); }); });
  run(clock);
  EXPECT_DOUBLE_EQ(second, 4);
  EXPECT_DOUBLE_EQ(first, 5);
}

TEST(VirtualClock, FlowsOnOtherResourcesAreNotTouched) {
  VirtualClock clock;
  const int a = clock.add_resource(3), b = clock.add_resource(7);
  double end = 0;
  clock.start(over(a, 1), [&] { end = clock.now(); });
  for (int i = 0; i < 10; ++i) {
    clock.after(0.01 * i, [&] { clock.start(over(b, 0.01), [] {}); });
  }
  run(clock);
  EXPECT_EQ(end, 1.0 / 3.0);  // equal to the bit
}

TEST(VirtualClock, NothingToDoTakesNoTime) {
  VirtualClock clock;
  const int link = clock.add_resource(10);
  int done = 0;
  clock.start(over(link, 0), [&] { ++done; });
  clock.start(Flow{}, [&] { ++done; });
  run(clock);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(clock.now(), 0);
}

Flow on_units(int pool, double units, double workgroups, int priority = 0) {
  Flow flow;
  flow.amount = workgroups;
  flow.priority = priority;
  flow.occupancy = {pool, units, 1, workgroups};
  return flow;
}

TEST(VirtualClock, WorkgroupsRunInWaves) {
  for (const auto& [workgroups, seconds] : {std::pair{4.0, 1.0}, {5.0, 2.0}, {8.0, 2.0}}) {
    VirtualClock clock;
    const int pool = clock.add_resource(4);
    double end = 0;
    clock.start(on_units(pool, std::min(4.0, workgroups), workgroups), [&] { end = clock.now(); });
    run(clock);
    EXPECT_DOUBLE_EQ(end, seconds) << workgroups;
  }
}

TEST(VirtualClock, UnitsGoToHigherPrioritiesFirst) {
  VirtualClock clock;
  const int pool = clock.add_resource(4);
  double low = 0, high = 0;
  clock.start(on_units(pool, 4, 4), [&] { low = clock.now(); });
  clock.start(on_units(pool, 3, 3, 1), [&] { high = clock.now(); });
  run(clock);
  EXPECT_DOUBLE_EQ(high, 1);
  EXPECT_DOUBLE_EQ(low, 1.75);  // one second on one unit, then the other three workgroups on four
}

// A flow keeps its units although a link limits its rate.
TEST(VirtualClock, UnitsAreHeldWhateverTheRate) {
  VirtualClock clock;
  const int pool = clock.add_resource(4), link = clock.add_resource(1);
  Flow slow = over(link, 10);
  slow.occupancy = {pool, 2, 5, 0};  // two units could do 10 a second
  double compute = 0;
  clock.start(slow, [] {});
  clock.start(on_units(pool, 4, 8), [&] { compute = clock.now(); });
  run(clock);
  EXPECT_DOUBLE_EQ(compute, 4);  // eight workgroups on the two units that are left
}

TEST(VirtualClock, TellsWhenAFlowHasSoMuchLeft) {
  VirtualClock clock;
  const int link = clock.add_resource(10);
  double reached = 0, again = 0, end = 0;
  const auto id = clock.start(over(link, 100), [&] { end = clock.now(); });
  clock.watch(id, 40, [&] {
    reached = clock.now();
    EXPECT_DOUBLE_EQ(clock.left(id), 40);
    clock.watch(id, 10, [&] { again = clock.now(); });
  });
  clock.after(2, [&] { clock.start(over(link, 10), [] {}); });  // slows the flow from 2 to 4
  run(clock);
  EXPECT_DOUBLE_EQ(reached, 7);
  EXPECT_DOUBLE_EQ(again, 10);
  EXPECT_DOUBLE_EQ(end, 11);
  EXPECT_EQ(clock.left(id), 0);
}

TEST(VirtualClock, WatchingWhatHasPassedHappensNow) {
  VirtualClock clock;
  const int link = clock.add_resource(10);
  double reached = -1;
  const auto id = clock.start(over(link, 100), [] {});
  clock.after(5, [&] { clock.watch(id, 60, [&] { reached = clock.now(); }); });
  run(clock);
  EXPECT_EQ(reached, 5);
}

TEST(VirtualClock, AWatchGoesWithItsFlow) {
  VirtualClock clock;
  const int link = clock.add_resource(10);
  bool reached = false;
  VirtualClock::Id id = 0;
  clock.after(5, [&] { clock.cancel(id); });  // at the time of the watch
  id = clock.start(over(link, 100), [] {});
  clock.watch(id, 50, [&] { reached = true; });
  run(clock);
  EXPECT_FALSE(reached);
}

// A unit draws at most 3 a second, so 4 units draw 12 of the memory's 20. Each unit of progress
// takes 2.
TEST(VirtualClock, AUnitDrawsNoMoreThanItCan) {
  VirtualClock clock;
  const int pool = clock.add_resource(4), memory = clock.add_resource(20);
  Flow flow = over(memory, 12);
  flow.uses.front().amount = 2;
  flow.occupancy = {pool, 4, 100, 0, 3};
  double end = 0;
  clock.start(flow, [&] { end = clock.now(); });
  run(clock);
  EXPECT_DOUBLE_EQ(end, 2);
}

// The use is that on all 4 units. On 2 units or fewer progress takes 1 / 1.5 of it.
TEST(VirtualClock, FewerUnitsCrowdACacheLess) {
  const auto seconds = [](double units) {
    VirtualClock clock;
    const int pool = clock.add_resource(4), memory = clock.add_resource(3);
    Flow flow = over(memory, 12);
    flow.occupancy = {pool, units, 100, 0};
    flow.occupancy.uncrowded_units = 2;
    flow.occupancy.crowding = 0.5;
    double end = 0;
    clock.start(flow, [&] { end = clock.now(); });
    run(clock);
    return end;
  };
  EXPECT_DOUBLE_EQ(seconds(4), 4);
  EXPECT_DOUBLE_EQ(seconds(3), 4 * 1.25 / 1.5);
  EXPECT_DOUBLE_EQ(seconds(2), 4 / 1.5);
  EXPECT_DOUBLE_EQ(seconds(1), 4 / 1.5);
}

Flow loading(int memory, double rate, double slope, bool transfer) {
  Flow flow = over(memory, 1000);
  flow.cap = rate;
  flow.load = {memory, slope, transfer};
  return flow;
}

TEST(VirtualClock, EachKindIsSlowedByWhatTheOtherTakes) {
  VirtualClock clock;
  const int memory = clock.add_resource(10);
  const auto computing = clock.start(loading(memory, 4, 0.5, false), [] {});
  const auto moving = clock.start(loading(memory, 4, 2, true), [] {});
  clock.after(1, [] {});
  clock.step(1);
  const double x = 1000 - clock.left(computing), y = 1000 - clock.left(moving);
  EXPECT_NEAR(x, 4 / (1 + 0.5 * y / 10), 1e-6);
  EXPECT_NEAR(y, 4 / (1 + 2 * x / 10), 1e-6);
  EXPECT_LT(y, x);
}

TEST(VirtualClock, AKindIsNotSlowedByItself) {
  VirtualClock clock;
  const int memory = clock.add_resource(10);
  const auto one = clock.start(loading(memory, 4, 3, true), [] {});
  clock.start(loading(memory, 4, 3, true), [] {});
  clock.after(1, [] {});
  clock.step(1);
  EXPECT_DOUBLE_EQ(clock.left(one), 996);
}

// While a flow uses a resource, the resource is neither idle nor over its capacity. The last flow
// therefore ends after the total amount over the capacity.
TEST(VirtualClock, ConservesWork) {
  std::uint32_t state = 7;
  const auto random = [&](std::uint32_t count) {
    return ((state = state * 1664525u + 1013904223u) >> 8) % count;
  };
  for (int round = 0; round < 1000; ++round) {
    VirtualClock clock;
    const int link = clock.add_resource(10);
    double total = 0, last = 0;
    for (std::uint32_t i = 0, count = 1 + random(20); i < count; ++i) {
      Flow flow = over(link, 1 + random(100));
      flow.weight = 1 + random(4);
      const double when = total / 10 * random(10) / 10;  // before all earlier flows have ended
      total += flow.amount;
      clock.after(when, [&, flow] { clock.start(flow, [&] { last = clock.now(); }); });
    }
    run(clock);
    ASSERT_NEAR(last, total / 10, 1e-9 * total) << "round " << round;
  }
}

// Flows with similar ends end together, so that rates are computed once for each step. No flow ends
// early. At the exact end of a flow all smaller flows have ended, and each larger one has
// progressed by as much.
TEST(VirtualClock, ManyFlowsEndTogetherAndAreLittleLate) {
  constexpr int kFlows = 6000;
  VirtualClock clock;
  const int link = clock.add_resource(1e9);
  std::vector<double> ends(kFlows, 0);
  for (std::size_t i = 0; i < kFlows; ++i) {
    const double amount = 1e6 + 100 * static_cast<double>(i);
    clock.start(over(link, amount), [&, i] { ends[i] = clock.now(); });
  }
  int times = 0;
  while (clock.step()) ++times;
  double exact = 0, before = 0;
  for (std::size_t i = 0; i < kFlows; ++i) {
    const double amount = 1e6 + 100 * static_cast<double>(i);
    exact += (amount - before) * static_cast<double>(kFlows - i) / 1e9;
    before = amount;
    ASSERT_GE(ends[i], exact * (1 - 1e-9)) << i;
    ASSERT_LE(ends[i], exact * 1.004) << i;
  }
  EXPECT_LT(times, 2048 + 600);  // the last 2048 flows end one by one
}

TEST(VirtualClock, ManyFlowsThatTakeNoTimeEndAtOnce) {
  VirtualClock clock;
  const int link = clock.add_resource(1e9);
  clock.skip_to(1000);
  int ended = 0;
  for (int i = 0; i < 3000; ++i) clock.start(over(link, 1e-9), [&] { ++ended; });
  run(clock);
  EXPECT_EQ(ended, 3000);
  EXPECT_EQ(clock.now(), 1000);
}

// Each of 8 ranks sends to 7 peers, and all sizes differ. Returns the sum of the times of all ends.
double ragged_all_to_all(int rounds, int& flows) {
  VirtualClock clock;
  std::vector<int> out, in;
  for (int i = 0; i < 8; ++i) out.push_back(clock.add_resource(391e9));
  for (int i = 0; i < 8; ++i) in.push_back(clock.add_resource(391e9));
  double sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t k = 1; k < 8; ++k) {
        Flow flow;
        flow.amount = 1e6 + 1e3 * static_cast<double>(i * 8 + k);
        flow.uses = {{out[i], 1}, {in[(i + k) % 8], 1}};
        clock.start(flow, [&] { sum += clock.now(); });
        ++flows;
      }
    }
    run(clock);
  }
  return sum;
}

TEST(VirtualClock, IsTheSameToTheBit) {
  int flows = 0;
  EXPECT_EQ(ragged_all_to_all(3, flows), ragged_all_to_all(3, flows));
  EXPECT_EQ(flows, 2 * 3 * 56);
}

}  // namespace
}  // namespace duet::sim
