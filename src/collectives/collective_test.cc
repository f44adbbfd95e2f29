#include "collectives/collective.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace duet {
namespace {

Collective of(CollectiveKind kind, std::uint64_t count, DType dtype = DType::fp32) {
  Collective c;
  c.kind = kind;
  c.dtype = dtype;
  c.count = count;
  return c;
}

TEST(Collective, NamesComeBack) {
  for (const CollectiveKind kind : all_collectives()) EXPECT_EQ(parse_collective(name(kind)), kind);
  EXPECT_THROW(parse_collective("allreduce"), UsageError);
}

TEST(Collective, SizesAreNcclTests) {
  EXPECT_EQ(size_bytes(of(CollectiveKind::all_gather, 10), 4), 160u);
  EXPECT_EQ(size_bytes(of(CollectiveKind::all_reduce, 10), 4), 40u);
  EXPECT_EQ(size_bytes(of(CollectiveKind::broadcast, 10, DType::bf16), 8), 20u);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::send_recv, 4), 1);
  for (const CollectiveKind kind : all_collectives()) {
    if (kind == CollectiveKind::all_to_all_v) continue;
    const std::uint64_t count = count_for(kind, DType::fp16, 1001, 3);
    EXPECT_LE(size_bytes(of(kind, count, DType::fp16), 3), 1001u) << name(kind);
    EXPECT_GT(size_bytes(of(kind, count + 1, DType::fp16), 3), 1001u) << name(kind);
  }
}

// Moves write every byte of a receive buffer once and read within the send buffer.
TEST(Collective, MovesFillTheReceiveBuffersOnce) {
  for (const CollectiveKind kind : all_collectives()) {
    if (reduces(kind) || kind == CollectiveKind::neighbor_exchange) continue;
    for (int ranks = 1; ranks <= 5; ++ranks) {
      Collective c = of(kind, 7);
      c.root = ranks / 2;
      for (int i = 0; i < ranks * ranks; ++i) {
        c.counts.push_back(static_cast<std::uint64_t>((i * 7) % 5));
      }
      std::map<std::pair<int, std::uint64_t>, int> written;
      for (const Move& move : moves(c, ranks)) {
        EXPECT_LE(move.from_offset + move.bytes, send_bytes(c, move.from, ranks)) << name(kind);
        for (std::uint64_t i = 0; i < move.bytes; ++i) ++written[{move.to, move.to_offset + i}];
      }
      std::uint64_t bytes = 0;
      for (int rank = 0; rank < ranks; ++rank) bytes += recv_bytes(c, rank, ranks);
      EXPECT_EQ(written.size(), bytes) << name(kind) << " of " << ranks;
      for (const auto& [place, times] : written) EXPECT_EQ(times, 1) << name(kind);
    }
  }
}

// Of fields of 7, 8, 9 ... elements, also where both neighbours are one rank: a rank's first chunk
// comes from the end of the rank before, its last one from the begin of the next rank.
TEST(Collective, NeighborsGetEachOthersChunks) {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    for (const int ring : {0, 1}) {
      Collective c = of(CollectiveKind::neighbor_exchange, 7, DType::int8);
      c.neighbors.ring = ring;
      for (int rank = 0; rank < ranks; ++rank) {
        c.counts.push_back(7 + static_cast<std::uint64_t>(rank));
      }
      using Chunk = std::pair<int, std::uint64_t>;  // rank, offset
      std::map<Chunk, Chunk> sources;
      for (const Move& move : moves(c, ranks)) {
        EXPECT_EQ(move.bytes, 7u);
        sources[{move.to, move.to_offset}] = {move.from, move.from_offset};
      }
      EXPECT_EQ(sources.size(), 2 * static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        const int before = ring == 1 ? rank : (rank + ranks - 1) % ranks;
        const int next = ring == 1 ? rank : (rank + 1) % ranks;
        EXPECT_EQ((sources[{rank, 0}]), Chunk(before, send_bytes(c, before, ranks) - 7));
        EXPECT_EQ((sources[{rank, recv_bytes(c, rank, ranks) - 7}]), Chunk(next, 0));
      }
    }
  }
}

TEST(Collective, RefusesRingsAndFieldsThatMakeNoSense) {
  Collective c = of(CollectiveKind::neighbor_exchange, 4);
  EXPECT_NO_THROW(check(c, 6));
  c.neighbors.ring = 4;
  EXPECT_THROW(check(c, 6), BadArgument);
  c.neighbors.ring = 3;
  c.counts = {4, 4, 4, 4, 4};
  EXPECT_THROW(check(c, 6), BadArgument);
  c.counts = {4, 4, 4, 4, 4, 3};
  EXPECT_THROW(check(c, 6), BadArgument);
  c.counts.back() = 4;
  EXPECT_NO_THROW(check(c, 6));
  c.neighbors.computes_beside = true;
  EXPECT_THROW(check(c, 6), BadArgument);
  c.neighbors.computes = true;
  EXPECT_NO_THROW(check(c, 6));
}

TEST(Collective, RefusesWhatMakesNoSense) {
  Collective c = of(CollectiveKind::broadcast, 1);
  c.root = 4;
  EXPECT_THROW(check(c, 4), BadArgument);
  EXPECT_THROW(check(of(CollectiveKind::all_reduce, 1, DType::int8), 4), BadArgument);
  EXPECT_THROW(check(of(CollectiveKind::all_to_all_v, 1), 4), BadArgument);
  EXPECT_THROW(send_bytes(of(CollectiveKind::all_to_all_v, 1), 0, 4), BadArgument);
  EXPECT_THROW(recv_bytes(of(CollectiveKind::all_to_all_v, 1), 3, 4), BadArgument);
  EXPECT_THROW(check(of(CollectiveKind::all_gather, (std::uint64_t{1} << 62) + 1), 4), BadArgument);
  EXPECT_NO_THROW(check(of(CollectiveKind::all_gather, 1, DType::int8), 4));
}

}  // namespace
}  // namespace duet
