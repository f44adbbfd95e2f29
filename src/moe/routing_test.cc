// Tokens choose as often as their routing says, and rows move as their choices say.
#include "moe/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "core/error.h"
#include "core/message_fixture.h"
#include "moe/routing_fixture.h"

namespace duet {
namespace {

// How often expert e is chosen, for each expert.
std::vector<int> counts(const RoutedTokens& routed) {
  std::vector<int> all(static_cast<std::size_t>(routed.shape.experts));
  for (const std::int32_t each : routed.experts) ++all[static_cast<std::size_t>(each)];
  return all;
}

TEST(Routings, TokensChooseDifferentExpertsWhoseWeightsAddUp) {
  const RoutedTokens routed = route(parse_token_routing("zipf:1.2"), shape(500, 32, 8), 1, 2);
  for (std::int64_t token = 0; token < 1000; ++token) {
    const std::int32_t* const experts = routed.experts_of(token);
    EXPECT_EQ(std::set<std::int32_t>(experts, experts + 8).size(), 8u) << token;
    const float* const weights = routed.weights_of(token);
    float sum = 0;
    for (int j = 0; j < 8; ++j) sum += weights[j];
    EXPECT_NEAR(sum, 1, 1e-5) << token;
    EXPECT_TRUE(std::is_sorted(weights, weights + 8, std::greater<float>())) << token;
  }
}

// Of uniform routing a token reaches a given rank with probability 1 - C(E - E/n, k) / C(E, k).
TEST(Routings, UniformTokensReachAsManyRanksAsTheyShould) {
  const std::int64_t experts = 64, chosen = 4, tokens = 5000;
  const int ranks = 4;
  const RoutedTokens routed = route({}, shape(tokens, experts, chosen), 3, ranks);
  double none = 1;
  for (std::int64_t j = 0; j < chosen; ++j)
    none *= static_cast<double>(experts - experts / ranks - j) / static_cast<double>(experts - j);
  const ExchangedRows rows = exchange(ExchangeKind::per_rank, routed, one_node(ranks));
  std::uint64_t sent = 0;
  for (int rank = 0; rank < ranks; ++rank) sent += rows.hops[0].sent_by(rank);
  EXPECT_NEAR(static_cast<double>(sent) / (ranks * static_cast<double>(tokens)), ranks * (1 - none),
              0.02);
}

TEST(Routings, FollowTheirProbabilities) {
  const auto one = [](const char* routing) {
    return counts(route(parse_token_routing(routing), shape(20000, 8, 1), 5, 2));
  };
  for (const int each : one("uniform")) EXPECT_NEAR(each, 5000, 300);
  const std::vector<int> hot = one("hot:9");
  EXPECT_NEAR(hot[0], 40000 * 9 / 16, 600);
  EXPECT_NEAR(hot[5], 40000 / 16, 250);
  std::vector<int> zipf = one("zipf:1");
  std::sort(zipf.rbegin(), zipf.rend());
  const double all = 1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5. + 1 / 6. + 1 / 7. + 1 / 8.;
  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR(zipf[static_cast<std::size_t>(i)], 40000 / all / (i + 1), 500) << i;
}

TEST(Routings, AreTheSameForAnyNumberOfRanks) {
  const RoutedTokens two = route({}, shape(60, 12, 3), 7, 2),
                     three = route({}, shape(40, 12, 3), 7, 3);
  EXPECT_EQ(two.experts, three.experts);
  EXPECT_EQ(two.weights, three.weights);
}

TEST(Routings, OfAFileChooseAsItsLinesSay) {
  const std::string path = ::testing::TempDir() + "routing.txt";
  std::ofstream(path) << "3 1\n0 2\n";
  const TokenRouting routing = parse_token_routing("file:" + path);
  check(routing, shape(3, 4, 2));
  const RoutedTokens routed = route(routing, shape(3, 4, 2), 0, 2);
  EXPECT_EQ(routed.experts, (std::vector<std::int32_t>{3, 1, 0, 2, 3, 1, 0, 2, 3, 1, 0, 2}));
  EXPECT_EQ(message_of<UsageError>([&] { check(routing, shape(3, 3, 2)); }),
            "--routing file:" + path + ": line 1: expected 2 different experts of 0 to 2");
  EXPECT_EQ(message_of<UsageError>([&] { check(routing, shape(3, 4, 3)); }),
            "--routing file:" + path + ": line 1: expected 3 different experts of 0 to 3");
}

TEST(Routings, RefuseWhatIsNone) {
  for (const char* text : {"", "zipf", "zipf:", "zipf:x", "hot:0", "hot:-1", "zipf:1.2x",
                           "file:", "zipf:inf", "random"}) {
    EXPECT_EQ(message_of<UsageError>([&] { parse_token_routing(text); }),
              std::string("--routing ") + text +
                  ": expected uniform, zipf:S, hot:N or file:PATH, with numbers above 0");
  }
  EXPECT_EQ(message_of<UsageError>([] { parse_token_routing("file:/nowhere/at/all"); }),
            "--routing file:/nowhere/at/all: cannot be read");
}

// Each rank's tokens 0 to 3 choose expert 0, which takes 1.5 * 4 * 2 / 4 = 3 of them.
TEST(Routings, WhatExpertsHaveNoRoomForIsDropped) {
  const std::string path = ::testing::TempDir() + "crowded.txt";
  std::ofstream(path) << "0 1\n0 2\n0 3\n2 0\n";
  MoeShape limited = shape(4, 4, 2);
  limited.capacity_factor = 1.5;
  const RoutedTokens routed = route(parse_token_routing("file:" + path), limited, 0, 2);
  const std::vector<std::int32_t> of_rank{0, 1, 0, 2, 0, 3, 2, -1};
  std::vector<std::int32_t> wanted = of_rank;
  wanted.insert(wanted.end(), of_rank.begin(), of_rank.end());
  EXPECT_EQ(routed.experts, wanted);
  EXPECT_EQ(routed.dropped(), 2);
  const ExchangedRows once = exchange(ExchangeKind::per_rank, routed, one_node(2));
  EXPECT_EQ(once.hops[0].sent, (std::vector<std::uint64_t>{3, 3, 3, 3}));
  EXPECT_EQ(once.rows_of_expert[0], (std::vector<std::int64_t>{6, 2}));
  const ExchangedRows each = exchange(ExchangeKind::per_expert, routed, one_node(2));
  EXPECT_EQ(each.hops[0].sent, (std::vector<std::uint64_t>{4, 3, 4, 3}));
}

TEST(Shapes, AnExpertTakesAllThatMayCome) {
  MoeShape limited = shape(10, 8, 2);
  limited.capacity_factor = 0.3;
  EXPECT_EQ(limited.capacity(), 1);
  limited.capacity_factor = 1e300;
  EXPECT_EQ(limited.capacity(), 10);
}

TEST(Shapes, AreRefusedWithWhatIsExpected) {
  EXPECT_EQ(message_of<UsageError>([] { check(shape(1, 6, 2), 4); }),
            "moe test: 6 experts: expected a multiple of 4 ranks");
  EXPECT_EQ(message_of<UsageError>([] { check(shape(1, 4, 5), 2); }),
            "moe test: 5 experts of a token: expected 1 to 4");
  MoeShape fp8 = shape(1, 4, 2);
  fp8.fp8_rows = true;
  EXPECT_EQ(message_of<UsageError>([&] { check(fp8, 2); }),
            "moe test: rows of 16 elements: expected a multiple of 128 in fp8");
}

}  // namespace
}  // namespace duet
