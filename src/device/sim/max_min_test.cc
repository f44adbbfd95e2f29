// The solver on cases that are computed by hand, and against brute force on random ones.
#include "device/sim/max_min.h"

#include <gtest/gtest.h>

#include <cmath>

namespace duet::sim {
namespace {

struct Case {
  std::vector<ResourceUse> uses;
  double weight = 1;
  double cap = std::numeric_limits<double>::infinity();
  int priority = 0;
};

std::vector<double> solve(const std::vector<double>& capacities, const std::vector<Case>& cases) {
  std::vector<MaxMinClaim> claims;
  for (const Case& one : cases) {
    claims.push_back({one.weight, one.cap, one.priority, &one.uses, -1});
  }
  MaxMin max_min;
  max_min.solve(capacities, claims);
  std::vector<double> rates;
  for (const MaxMinClaim& claim : claims) rates.push_back(claim.rate);
  return rates;
}

TEST(MaxMin, SharesALinkEqually) {
  EXPECT_EQ(solve({12}, {{{{0, 1}}}, {{{0, 1}}}, {{{0, 1}}}}), (std::vector<double>{4, 4, 4}));
}

TEST(MaxMin, LeavesToOthersWhatACapForgoes) {
  EXPECT_EQ(solve({12}, {{{{0, 1}}, 1, 2}, {{{0, 1}}}, {{{0, 1}}}}),
            (std::vector<double>{2, 5, 5}));
}

TEST(MaxMin, FollowsWeights) {
  EXPECT_EQ(solve({12}, {{{{0, 1}}, 1}, {{{0, 1}}, 3}}), (std::vector<double>{3, 9}));
}

// A textbook example: one long flow over both links, and a short flow on each. The narrow link sets
// the long flow's rate, and the short flow on the wide link gets the rest of that link.
TEST(MaxMin, SeveralResourcesOfOneFlow) {
  EXPECT_EQ(solve({10, 30}, {{{{0, 1}, {1, 1}}}, {{{0, 1}}}, {{{1, 1}}}}),
            (std::vector<double>{5, 5, 25}));
}

TEST(MaxMin, CountsWhatAUnitOfProgressTakes) {
  // The first flow takes two units of the resource for each unit of progress: 2x + x = 12.
  EXPECT_EQ(solve({12}, {{{{0, 2}}}, {{{0, 1}}}}), (std::vector<double>{4, 4}));
}

TEST(MaxMin, ServesHigherPrioritiesFirst) {
  EXPECT_EQ(solve({10}, {{{{0, 1}}, 1, 100, 0}, {{{0, 1}}, 1, 7, 2}, {{{0, 1}}, 1, 100, 0}}),
            (std::vector<double>{1.5, 7, 1.5}));
  EXPECT_EQ(solve({10}, {{{{0, 1}}, 1, 100, 0}, {{{0, 1}}, 1, 50, 1}}),
            (std::vector<double>{0, 10}));
}

TEST(MaxMin, NothingToUseGivesTheCap) {
  EXPECT_EQ(solve({1}, {{{}, 1, 8}, {{{0, 1}}}}), (std::vector<double>{8, 1}));
}

TEST(MaxMin, NoCapacityGivesNoRate) {
  EXPECT_EQ(solve({0, 5}, {{{{0, 1}, {1, 1}}}, {{{1, 1}}}}), (std::vector<double>{0, 5}));
}

struct Net {
  std::vector<double> capacities;
  std::vector<Case> cases;
};

class Random {
 public:
  explicit Random(std::uint32_t state) : state_(state) {}
  std::uint32_t below(std::uint32_t count) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % count;
  }

 private:
  std::uint32_t state_;
};

Net random_net(Random& random) {
  Net net;
  const std::uint32_t resources = 1 + random.below(6), flows = 1 + random.below(12);
  for (std::uint32_t r = 0; r < resources; ++r) net.capacities.push_back(1 + random.below(50));
  for (std::uint32_t f = 0; f < flows; ++f) {
    Case one;
    for (std::uint32_t r = 0; r < resources; ++r) {
      if (random.below(3) == 0) one.uses.push_back({static_cast<int>(r), 0.5 + random.below(4)});
    }
    one.weight = 1 + random.below(3);
    one.cap = 1 + random.below(20);
    one.priority = static_cast<int>(random.below(2));
    net.cases.push_back(one);
  }
  return net;
}

std::vector<double> loads(const Net& net, const std::vector<double>& rates) {
  std::vector<double> load(net.capacities.size(), 0);
  for (std::size_t f = 0; f < net.cases.size(); ++f) {
    for (const ResourceUse& use : net.cases[f].uses) {
      load[static_cast<std::size_t>(use.resource)] += use.amount * rates[f];
    }
  }
  return load;
}

bool fits(const Net& net, const std::vector<double>& rates, double slack) {
  const std::vector<double> load = loads(net, rates);
  for (std::size_t r = 0; r < load.size(); ++r) {
    if (load[r] > net.capacities[r] + slack) return false;
  }
  return true;
}

// Brute force: finds the highest common level of the open flows by bisection, closes the flows that
// cannot rise further on their own, and repeats until no flow is open.
void raise(const Net& net, int priority, std::vector<double>& rates) {
  std::vector<std::size_t> open;
  for (std::size_t f = 0; f < net.cases.size(); ++f) {
    if (net.cases[f].priority == priority) open.push_back(f);
  }
  const auto at = [&](double level) {
    std::vector<double> trial = rates;
    for (std::size_t f : open) {
      trial[f] = std::min(net.cases[f].cap, level * net.cases[f].weight);
    }
    return trial;
  };
  while (!open.empty()) {
    double low = 0, high = 100;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (fits(net, at(middle), 1e-9) ? low : high) = middle;
    }
    rates = at(low);
    std::vector<std::size_t> still;
    for (std::size_t f : open) {
      std::vector<double> more = rates;
      more[f] += 1e-6;
      if (rates[f] < net.cases[f].cap - 1e-7 && fits(net, more, 1e-8)) still.push_back(f);
    }
    if (still.size() == open.size()) break;
    open = still;
  }
}

// 10,000 nets: no resource over its capacity, and the rates that brute force finds.
TEST(MaxMin, IsWhatBruteForceFinds) {
  Random random(2025);
  for (int round = 0; round < 10000; ++round) {
    const Net net = random_net(random);
    const std::vector<double> rates = solve(net.capacities, net.cases);
    ASSERT_TRUE(fits(net, rates, 1e-9)) << "round " << round;
    std::vector<double> expected(net.cases.size(), 0);
    for (const int priority : {1, 0}) raise(net, priority, expected);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      ASSERT_NEAR(rates[f], expected[f], 1e-4) << "round " << round << " flow " << f;
    }
  }
}

// The definition of weighted max-min: no resource is over its capacity, and every flow is at its
// cap or uses a full resource on which no other flow has a higher rate per weight.
TEST(MaxMin, HoldsTheDefinitionOnARandomNet) {
  std::uint32_t state = 12345;
  const auto random = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int round = 0; round < 200; ++round) {
    std::vector<double> capacities;
    for (int r = 0; r < 6; ++r) capacities.push_back(1 + random() % 50);
    std::vector<Case> cases;
    for (int f = 0; f < 12; ++f) {
      Case one;
      for (int r = 0; r < 6; ++r) {
        if (random() % 3 == 0) one.uses.push_back({r, 0.5 + random() % 4});
      }
      one.weight = 1 + random() % 3;
      one.cap = 1 + random() % 20;
      cases.push_back(one);
    }
    const std::vector<double> rates = solve(capacities, cases);
    std::vector<double> load(6, 0);
    for (std::size_t f = 0; f < cases.size(); ++f) {
      for (const ResourceUse& use : cases[f].uses) {
        load[static_cast<std::size_t>(use.resource)] += use.amount * rates[f];
      }
    }
    for (std::size_t r = 0; r < 6; ++r) EXPECT_LE(load[r], capacities[r] * (1 + 1e-9));
    for (std::size_t f = 0; f < cases.size(); ++f) {
      bool justified = rates[f] >= cases[f].cap * (1 - 1e-9);
      for (const ResourceUse& use : cases[f].uses) {
        const std::size_t r = static_cast<std::size_t>(use.resource);
        if (load[r] < capacities[r] * (1 - 1e-9)) continue;
        bool highest = true;
        for (std::size_t g = 0; g < cases.size(); ++g) {
          for (const ResourceUse& other : cases[g].uses) {
            if (other.resource != use.resource) continue;
            highest &= rates[g] / cases[g].weight <= rates[f] / cases[f].weight * (1 + 1e-9);
          }
        }
        justified |= highest;
      }
      EXPECT_TRUE(justified) << "round " << round << " flow " << f;
    }
  }
}

}  // namespace
}  // namespace duet::sim
