// Rates of cases that are computed by hand.
#include "device/sim/flow_rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace duet::sim {
namespace {

std::vector<double> rates_of(const std::vector<double>& capacities,
                             const std::vector<Flow>& flows) {
  std::vector<const Flow*> pointers;
  for (const Flow& flow : flows) pointers.push_back(&flow);
  FlowRates rates;
  return rates.solve(capacities, pointers);
}

Flow using_resource(int resource, double cap = std::numeric_limits<double>::infinity()) {
  Flow flow;
  flow.uses = {{resource, 1}};
  flow.cap = cap;
  return flow;
}

Flow occupying(int pool, double units, double workgroups, int priority = 0) {
  Flow flow;
  flow.priority = priority;
  flow.occupancy = {pool, units, 1, workgroups};
  return flow;
}

TEST(FlowRates, ShareAResourceUpToTheirCaps) {
  EXPECT_EQ(rates_of({12}, {using_resource(0, 2), using_resource(0), using_resource(0)}),
            (std::vector<double>{2, 5, 5}));
  EXPECT_EQ(rates_of({12}, {}), std::vector<double>());
}

TEST(FlowRates, DoNotDependOnWhatIsLeft) {
  std::vector<Flow> flows = {using_resource(0), occupying(1, 3, 5)};
  const std::vector<double> before = rates_of({12, 4}, flows);
  flows[0].amount = 1e9;
  EXPECT_EQ(rates_of({12, 4}, flows), before);
}

TEST(FlowRates, AreTheSameWithUsedWorkingMemory) {
  const Flow one = occupying(1, 4, 7), two = using_resource(0), three = using_resource(0, 1);
  FlowRates rates;
  const std::vector<double> first = rates.solve({12, 4}, {&one, &two, &three});
  rates.solve({12, 4}, {&three});
  EXPECT_EQ(rates.solve({12, 4}, {&one, &two, &three}), first);
}

// Five workgroups on four units run in two waves, 2.5 at a time on average.
TEST(FlowRates, WorkgroupsRunInWaves) {
  EXPECT_EQ(rates_of({4}, {occupying(0, 4, 4)}).front(), 4);
  EXPECT_EQ(rates_of({4}, {occupying(0, 4, 5)}).front(), 2.5);
  EXPECT_EQ(rates_of({4}, {occupying(0, 4, 8)}).front(), 4);
}

TEST(FlowRates, UnitsGoToHigherPrioritiesFirst) {
  EXPECT_EQ(rates_of({4}, {occupying(0, 4, 0), occupying(0, 3, 0, 1)}),
            (std::vector<double>{1, 3}));
}

// The first flow keeps its two units although the link limits its rate.
TEST(FlowRates, UnitsAreHeldWhateverTheRate) {
  Flow slow = using_resource(1);
  slow.occupancy = {0, 2, 5, 0};
  EXPECT_EQ(rates_of({4, 1}, {slow, occupying(0, 4, 0)}), (std::vector<double>{1, 2}));
}

// A unit draws at most 3 a second, so 4 units draw 12 of the memory's 20. Each unit of progress
// takes 2.
TEST(FlowRates, AUnitDrawsNoMoreThanItCan) {
  Flow flow = using_resource(1);
  flow.uses.front().amount = 2;
  flow.occupancy = {0, 4, 100, 0, 3};
  EXPECT_DOUBLE_EQ(rates_of({4, 20}, {flow}).front(), 6);
}

Flow loading(double rate, double slope, bool transfer) {
  Flow flow = using_resource(0, rate);
  flow.load = {0, slope, transfer};
  return flow;
}

TEST(FlowRates, EachKindIsSlowedByWhatTheOtherTakes) {
  const auto rates = rates_of({10}, {loading(4, 0.5, false), loading(4, 2, true)});
  EXPECT_NEAR(rates[0], 4 / (1 + 0.5 * rates[1] / 10), 1e-6);
  EXPECT_NEAR(rates[1], 4 / (1 + 2 * rates[0] / 10), 1e-6);
  EXPECT_EQ(rates_of({10}, {loading(4, 3, true), loading(4, 3, true)}),
            (std::vector<double>{4, 4}));
}

// With all units computing the clock is half of the full one. A transfer that draws half of the
// power multiplies it by the cube root of a half.
TEST(FlowRates, UnitsRunSlowerWhereOthersDrawPower) {
  Flow computing = occupying(0, 4, 0);
  computing.throttle = {1, 0.5};
  Flow moving = using_resource(1, 50);
  moving.load.transfer = true;
  EXPECT_EQ(rates_of({4, 100}, {computing}).front(), 4);
  EXPECT_NEAR(rates_of({4, 100}, {computing, moving}).front(), 4 * std::cbrt(0.5), 1e-9);
}

}  // namespace
}  // namespace duet::sim
