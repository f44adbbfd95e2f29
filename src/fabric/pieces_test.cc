#include "fabric/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace duet {
namespace {

// Every byte is covered once, and each rail has one piece marked as its last.
void expect_covered(std::vector<MessagePiece> pieces, std::uint64_t bytes) {
  std::map<int, int> lasts;
  std::map<int, std::uint64_t> ends, ends_of_last;
  for (const MessagePiece& piece : pieces) {
    lasts[piece.rail] += piece.last ? 1 : 0;
    ends[piece.rail] = std::max(ends[piece.rail], piece.offset + piece.bytes);
    if (piece.last) ends_of_last[piece.rail] = piece.offset + piece.bytes;
  }
  for (const auto& [rail, count] : lasts) EXPECT_EQ(count, 1) << "rail " << rail;
  EXPECT_EQ(ends, ends_of_last);
  std::sort(pieces.begin(), pieces.end(),
            [](const MessagePiece& a, const MessagePiece& b) { return a.offset < b.offset; });
  std::uint64_t position = 0;
  for (const MessagePiece& piece : pieces) {
    EXPECT_EQ(piece.offset, position);
    EXPECT_GT(piece.bytes, 0u);
    position += piece.bytes;
  }
  EXPECT_EQ(position, bytes);
}

TEST(Pieces, CoverEveryByteInEveryMode) {
  for (const RailMode mode : {RailMode::single, RailMode::split, RailMode::round_robin}) {
    for (const std::vector<int>& rails : {std::vector<int>{0}, {0, 1, 2}, {1, 3}, {0, 1, 2, 3}}) {
      for (const std::uint64_t bytes : {1u, 63u, 64u, 255u, 256u, 257u, 4096u, 1000001u}) {
        for (const std::uint64_t chunk : {0u, 1u, 100u, 4096u}) {
          if (chunk == 1 && bytes > 4096) continue;
          expect_covered(cut_message(bytes, 5, mode, rails, chunk), bytes);
        }
      }
    }
  }
}

TEST(Pieces, SplitGivesTheRemainderToTheLastRail) {
  const std::vector<MessagePiece> pieces = cut_message(1027, 0, RailMode::split, {0, 1, 2, 3}, 0);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].bytes, 256u);
  EXPECT_EQ(pieces[3].bytes, 259u);
  EXPECT_EQ(pieces[3].rail, 3);
}

TEST(Pieces, RoundRobinTakesTheNextRailForEachMessage) {
  for (std::uint64_t message = 0; message < 8; ++message) {
    const auto pieces = cut_message(4096, message, RailMode::round_robin, {0, 2, 5}, 1024);
    const std::vector<int> rails = {0, 2, 5};
    for (const MessagePiece& piece : pieces) EXPECT_EQ(piece.rail, rails[message % 3]);
  }
}

TEST(Pieces, AllRailsBeginAtOnce) {
  const auto pieces = cut_message(4096, 0, RailMode::split, {0, 1, 2, 3}, 256);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pieces[static_cast<std::size_t>(i)].rail, i);
}

TEST(Pieces, MessageCutsEqualThePiecesOfEachMessage) {
  const std::vector<int> rails = {0, 2, 5};
  MessageShape shape;
  shape.bytes = 1027;
  shape.chunk = 256;
  for (const RailMode mode : {RailMode::single, RailMode::split, RailMode::round_robin}) {
    shape.mode = mode;
    const MessagePieces cuts(shape, rails);
    for (std::uint64_t sequence = 0; sequence < 7; ++sequence) {
      const auto expected = cut_message(shape.bytes, sequence, mode, rails, shape.chunk);
      ASSERT_EQ(cuts.of(sequence).size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(cuts.of(sequence)[i].rail, expected[i].rail);
        EXPECT_EQ(cuts.of(sequence)[i].offset, expected[i].offset);
        EXPECT_EQ(cuts.of(sequence)[i].bytes, expected[i].bytes);
      }
    }
  }
}

}  // namespace
}  // namespace duet
