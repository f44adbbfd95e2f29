// The solver on cases that are worked out by hand.
#include "device/sim/fluid.h"

#include <gtest/gtest.h>

#include <cmath>

namespace duet::sim {
namespace {

struct Case {
  std::vector<Use> uses;
  double weight = 1;
  double cap = std::numeric_limits<double>::infinity();
  int priority = 0;
};

std::vector<double> solve(const std::vector<double>& capacities, const std::vector<Case>& cases) {
  std::vector<Share> shares;
  for (const Case& one : cases) {
    shares.push_back({one.weight, one.cap, one.priority, &one.uses, -1});
  }
  MaxMin max_min;
  max_min.solve(capacities, shares);
  std::vector<double> rates;
  for (const Share& share : shares) rates.push_back(share.rate);
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

// The textbook line: one long flow over both links, one short on each; the narrow link sets the
// long flow's rate, and the wide one's short flow takes the rest.
TEST(MaxMin, SeveralResourcesOfOneFlow) {
  EXPECT_EQ(solve({10, 30}, {{{{0, 1}, {1, 1}}}, {{{0, 1}}}, {{{1, 1}}}}),
            (std::vector<double>{5, 5, 25}));
}

TEST(MaxMin, CountsWhatAUnitOfProgressTakes) {
  // The first takes two units of the resource for each unit of progress: 2x + x = 12.
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

// What defines weighted max-min: no resource is over its capacity, and every flow is either at its
// cap or has a full resource on which no other flow has a higher rate per weight.
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
      for (const Use& use : cases[f].uses) {
        load[static_cast<std::size_t>(use.resource)] += use.amount * rates[f];
      }
    }
    for (std::size_t r = 0; r < 6; ++r) EXPECT_LE(load[r], capacities[r] * (1 + 1e-9));
    for (std::size_t f = 0; f < cases.size(); ++f) {
      bool justified = rates[f] >= cases[f].cap * (1 - 1e-9);
      for (const Use& use : cases[f].uses) {
        const std::size_t r = static_cast<std::size_t>(use.resource);
        if (load[r] < capacities[r] * (1 - 1e-9)) continue;
        bool highest = true;
        for (std::size_t g = 0; g < cases.size(); ++g) {
          for (const Use& other : cases[g].uses) {
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
