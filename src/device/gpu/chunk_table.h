// What a kernel that exchanges chunks reads, for the code of CPUs and of GPUs.
#pragma once

#include <cstdint>

#include "core/chunks.h"
#include "device/gpu/norm_table.h"

namespace duet::gpu {

// One rank's, of a call of one pass or of two. In the first pass each rank sends its peers parts,
// which are moved to their targets or reduced; in the second it passes on to them the part that it
// has made of what has come, reduced or as it is.
struct ChunkTable {
  struct Peer {
    const unsigned char* source;  // this rank's part for the peer, or null
    unsigned char* kept;          // where this rank wants a copy of that as well, or null
    unsigned char* to;  // buffer at the peer (chunk_buffer_bytes()), as `from` at this rank
    unsigned char* from;
    unsigned char* target;  // for what the peer sends, in a call of two passes in the second one
    std::uint64_t sent, brought;     // bytes of this rank's part for the peer, and of the peer's
    std::uint64_t passed, returned;  // the same of the second pass
  };
  Peer peers[kMostPacketPeers];      // in the order of ranks, without this one
  const unsigned char* own;          // this rank's part for itself, or null
  unsigned char* result;             // for that part, for what is reduced, or what is passed on
  std::uint32_t* last;               // for each block the number of the last chunk,
  std::uint32_t* ended;              // and whether one of its waits has been ended
  std::uint64_t own_bytes;           // of `own` and of `result`
  std::uint64_t share, chunk, room;  // as ChunkShape::share and ::bytes; from place to place
  std::uint32_t chunks;              // ChunkShape::count
  std::uint32_t count;               // of peers
  std::uint32_t rank;                // this rank, of count + 1
  std::uint32_t origin;  // the peer, of `peers`, whose part is passed on where nothing is reduced
  std::int32_t divisor;  // of what is reduced
  std::uint32_t width;   // in bytes, of words of which all addresses are multiples: 16, 4 or 1
  std::uint32_t passes;  // 1 or 2
  std::uint32_t is_one_source;  // 1: all peers get one part, which is `own` as well
};

}  // namespace duet::gpu
