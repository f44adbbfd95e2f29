#include "collectives/schedule/algorithms/broadcast_pieces.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace duet {
namespace {

TEST(Relay, GivesEveryPieceToEachOnceWhenItsSenderHasIt) {
  for (const auto pushes : {passed_round, dealt_out}) {
    for (int others = 2; others <= 9; ++others) {
      for (const int pieces : {0, 1, others - 1, 4 * others + 1}) {
        std::set<std::pair<int, int>> has;  // receiver, piece
        for (const RelayPush& push : pushes(pieces, others)) {
          EXPECT_TRUE(push.from == others || has.count({push.from, push.piece}) == 1) << push.from;
          EXPECT_TRUE(has.insert({push.to, push.piece}).second) << push.to << ", " << push.piece;
        }
        EXPECT_EQ(has.size(), static_cast<std::size_t>(pieces * others));
      }
    }
  }
}

TEST(Relay, PassedRoundHasOnePartnerForEachPort) {
  for (const RelayPush& push : passed_round(5, 3)) EXPECT_EQ((push.from + 1) % 4, push.to);
}

// In every round the receivers of all pushes differ: the root's receiver, and that of each other
// rank, which forwards a piece by a shift that depends on the piece's age in rounds.
TEST(Relay, HasAReceiverForEverySenderOfARound) {
  for (int others = 2; others <= 16; ++others) {
    for (int round = 0; round < others; ++round) {
      std::set<int> receivers{round};
      for (int other = 0; other < others; ++other) {
        const int shift = relay_shift((round - other + others) % others, others);
        if (shift == 0) continue;
        EXPECT_TRUE(receivers.insert((other + shift) % others).second) << others << ", " << round;
      }
      EXPECT_EQ(receivers.size(), static_cast<std::size_t>(others));
    }
  }
}

TEST(BroadcastPieces, AreAsManyForEachAndCoverTheBuffer) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const CopyLanes shared{2, true}, own{7, false};
  EXPECT_EQ(broadcast_pieces(64 * kMiB, 4, shared).size(), 8u);
  EXPECT_EQ(broadcast_pieces(64 * kMiB, 8, own).size(), 35u);
  for (const std::uint64_t bytes : {16 * kMiB, 64 * kMiB + 1, 4096 * kMiB}) {
    std::uint64_t end = 0;
    for (const ByteRange& piece : broadcast_pieces(bytes, 4, shared)) {
      EXPECT_EQ(piece.begin, end);
      end += piece.bytes;
    }
    EXPECT_EQ(end, bytes);
  }
  EXPECT_TRUE(broadcast_pieces(0, 4, shared).empty());
  EXPECT_TRUE(broadcast_pieces(kMiB, 4, shared).empty());
  EXPECT_TRUE(broadcast_pieces(1024 * kMiB, 2, shared).empty());
}

}  // namespace
}  // namespace duet
