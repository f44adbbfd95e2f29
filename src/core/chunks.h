// How a kernel of several blocks cuts the parts of a collective into chunks, which it moves through
// buffers at the peers (device/gpu/chunk_exchange.h). All ranks have the same constants and sizes,
// and so the same chunks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace duet {

// Places for chunks in the buffer between two ranks' blocks of one number, and how many chunks a
// block is ahead of what it has taken: half of them (chunk_exchange.h says why).
constexpr std::uint32_t kChunkPlaces = 4, kChunksAhead = 2;

// Few, so that a GEMM beside keeps the other compute units.
constexpr std::size_t kMostChunkBlocks = 24;

// What a rank keeps of its blocks from call to call: two words of each.
constexpr std::size_t kChunkStateBytes = kMostChunkBlocks * 2 * sizeof(std::uint32_t);

// The flag of a block, alone in its line.
constexpr std::size_t kChunkFlagBytes = 128;

// Where chunks begin in parts: at multiples of this.
constexpr std::size_t kChunkUnit = 128;

// What a block sends to all peers together before it signals, at most, as long as nothing else is
// asked for: two batches of 8, or one of 16, loads of 16 bytes by each of its 480 threads that move
// data.
constexpr std::size_t kChunkRound = 120 << 10;

// How a call is cut: block b of `blocks` moves the bytes from b * share on of each part, in `count`
// chunks, the last of which may be shorter or empty.
struct ChunkShape {
  std::uint32_t blocks, count;
  std::size_t share, bytes;  // of a block; of a chunk
};

// The place of a chunk between two ranks. `round`: of kChunkRound's meaning.
constexpr std::size_t chunk_room(std::size_t peers, std::size_t round) {
  return std::max(round / peers / kChunkUnit * kChunkUnit, kChunkUnit);
}

// Of parts that are `bytes` long, or the longest of which is. A block is worth starting for a
// quarter of a round, and chunks are shorter than their places where there would be so few that
// ranks do not send and take at a time.
constexpr ChunkShape chunk_shape(std::size_t bytes, std::size_t peers, std::size_t round) {
  constexpr std::size_t kFewestChunks = 4, kShortest = 8;  // an eighth of a place
  const auto up = [](std::size_t a, std::size_t b) { return (a + b - 1) / b; };
  const std::size_t room = chunk_room(peers, round);
  const std::size_t blocks = std::clamp<std::size_t>(
      up(bytes * peers, std::max<std::size_t>(round / 4, 1)), 1, kMostChunkBlocks);
  const std::size_t share = up(up(bytes, blocks), kChunkUnit) * kChunkUnit;
  const std::size_t shortest = std::max(room / kShortest, kChunkUnit);
  const std::size_t count =
      std::max({up(share, room), std::min(kFewestChunks, share / shortest), std::size_t{1}});
  const std::size_t chunk = up(up(share, count), kChunkUnit) * kChunkUnit;
  return {static_cast<std::uint32_t>(up(bytes, share)),
          static_cast<std::uint32_t>(up(share, chunk)), share, chunk};
}

// The buffer that a rank has for one peer: a flag for each block, then the places of each block.
constexpr std::size_t chunk_buffer_bytes(std::size_t peers, std::size_t round) {
  return kMostChunkBlocks * (kChunkFlagBytes + kChunkPlaces * chunk_room(peers, round));
}

}  // namespace duet
