#include "collectives/nodes/piece_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>

namespace duet {
namespace {

constexpr std::uint64_t kib(std::uint64_t count) { return count << 10; }
constexpr std::uint64_t mib(std::uint64_t count) { return count << 20; }

std::vector<std::uint64_t> sizes_of(const std::vector<PieceCut::Piece>& pieces) {
  std::vector<std::uint64_t> sizes;
  for (const PieceCut::Piece& piece : pieces) sizes.push_back(piece.bytes);
  return sizes;
}

// Pieces follow each other in each part, and there are no more than have numbers.
void expect_whole(const PieceCut& cut, const std::vector<std::uint64_t>& parts, bool last) {
  const auto pieces = cut.pieces(parts, last);
  std::vector<std::uint64_t> done(parts.size());
  for (const PieceCut::Piece& piece : pieces) {
    EXPECT_EQ(piece.offset, done[piece.part]);
    EXPECT_GT(piece.bytes, 0u);
    done[piece.part] += piece.bytes;
  }
  EXPECT_EQ(done, parts);
  EXPECT_LE(pieces.size(), cut.most() + (last ? cut.more_of_last() : 0));
}

TEST(PieceCut, CoversEveryPart) {
  for (const int rails : {1, 2, 4, 32}) {
    for (const MemoryPath path : {MemoryPath::direct, MemoryPath::ipc}) {
      for (const std::uint64_t bytes : {mib(1) / 3, mib(1) + 1, mib(16)}) {
        const PieceCut cut({3 * bytes, 3, 40 * bytes}, rails, path);
        for (const bool last : {false, true}) {
          expect_whole(cut, {bytes, 0, bytes - 1}, last);
          expect_whole(cut, {1, bytes, bytes}, last);
          expect_whole(cut, {0}, last);
        }
      }
    }
  }
}

TEST(PieceCut, TheLastMessageEndsInSmallPiecesOnEveryRail) {
  const PieceCut cut({mib(16), 1, mib(32)}, 4, MemoryPath::staged);
  const auto usual = sizes_of(cut.pieces({mib(16)}, false));
  EXPECT_EQ(std::count(usual.begin(), usual.end(), kib(128)), 128);
  const auto last = sizes_of(cut.pieces({mib(16)}, true));
  const auto small = std::find(last.begin(), last.end(), kib(64));
  EXPECT_EQ(std::count(last.begin(), small, kib(128)), small - last.begin());
  EXPECT_EQ(std::count(small, last.end(), kib(64)), last.end() - small);
  EXPECT_EQ(last.end() - small, 32);
}

TEST(PieceCut, ACallOfManyPiecesHasLargerOnes) {
  EXPECT_EQ(PieceCut({mib(16), 1, mib(128)}, 4, MemoryPath::direct).usual_bytes(), kib(256));
  EXPECT_EQ(PieceCut({mib(16), 1, mib(1024)}, 4, MemoryPath::direct).usual_bytes(), kib(512));
}

// A small message is spread over all rails.
TEST(PieceCut, EveryRailHasAPiece) {
  EXPECT_EQ(PieceCut({kib(400), 1, mib(4)}, 4, MemoryPath::direct).usual_bytes(), kib(100));
}

TEST(PieceCut, CopiesAreOfLargePiecesAndOneRailNeedsNoSmallOnes) {
  const PieceCut copied({mib(128), 1, mib(1024)}, 1, MemoryPath::ipc);
  EXPECT_EQ(sizes_of(copied.pieces({mib(128)}, true)), std::vector<std::uint64_t>(2, mib(64)));
  const PieceCut alone({mib(1), 1, mib(1)}, 1, MemoryPath::direct);
  EXPECT_EQ(sizes_of(alone.pieces({mib(1)}, true)), std::vector<std::uint64_t>(8, kib(128)));
}

}  // namespace

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
