#include "collectives/nodes/rail_dealer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>

namespace duet {
namespace {

constexpr std::uint64_t kPiece = 128 << 10;

// Deals all pieces to rails that carry one piece after the other, each in so many seconds, and
// returns when the last one ends. `most` is how many were under way on a rail at a time.
double seconds_of(const std::vector<double>& piece_seconds, std::size_t pieces,
                  std::size_t* most = nullptr) {
  const std::size_t rails = piece_seconds.size();
  RailDealer dealer(rails);
  dealer.begin(pieces * kPiece);
  std::vector<int> all(rails);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::deque<double>> ends(rails);  // of what is under way
  double now = 0, last = 0;
  for (std::size_t left = pieces; left > 0;) {
    if (const int rail = dealer.choose(all, kPiece); rail >= 0) {
      dealer.post(rail, kPiece);
      auto& own = ends[static_cast<std::size_t>(rail)];
      own.push_back((own.empty() ? now : own.back()) +
                    piece_seconds[static_cast<std::size_t>(rail)]);
      last = std::max(last, own.back());
      if (most != nullptr) *most = std::max(*most, own.size());
      --left;
      continue;
    }
    const auto first = std::min_element(ends.begin(), ends.end(), [](const auto& a, const auto& b) {
      return !a.empty() && (b.empty() || a.front() < b.front());
    });
    now = first->front();
    first->pop_front();
    dealer.ended(static_cast<int>(first - ends.begin()), kPiece);
  }
  return last;
}

TEST(RailDealer, KeepsSeveralPiecesUnderWayOnEveryRail) {
  std::size_t most = 0;
  EXPECT_DOUBLE_EQ(seconds_of({1, 1, 1, 1}, 256, &most), 64);
  EXPECT_EQ(most, RailDealer::kMostPieces);
}

// Rails that differ end together: little more than all their pieces take that carry 1 + 1 + 1/2 +
// 1/4 of them a second.
TEST(RailDealer, ASlowRailDoesNotHaveMuchLeftAtTheEnd) {
  const double ideal = 256 / 2.75;
  EXPECT_LE(seconds_of({1, 1, 2, 4}, 256), ideal + 4.0 * RailDealer::kFewestPieces);
  EXPECT_GE(seconds_of({1, 1, 2, 4}, 256), ideal);
}

TEST(RailDealer, WhatALostRailHadUnderWayIsLeftAgain) {
  RailDealer dealer(2);
  dealer.begin(64 * kPiece);
  for (int i = 0; i < 8; ++i) dealer.post(0, kPiece);
  EXPECT_EQ(dealer.choose({0}, kPiece), -1);
  for (int i = 0; i < 8; ++i) dealer.lost(0, kPiece);
  std::size_t taken = 0;
  for (; dealer.choose({1}, kPiece) == 1; ++taken) dealer.post(1, kPiece);
  EXPECT_EQ(taken, RailDealer::kMostPieces);
}

// However little is left.
TEST(RailDealer, ALastPieceIsTaken) {
  RailDealer dealer(2);
  dealer.begin(1);
  EXPECT_EQ(dealer.choose({0, 1}, 1), 0);
}

}  // namespace
}  // namespace duet
