// The calls that the protocol makes, as copies between the buffers of two ranks, or through slots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/chunks.h"
#include "core/dtype.h"
#include "core/reduction.h"

namespace duet::nccl_shim {

enum class Kind : std::uint32_t { all_gather, all_to_all, broadcast, reduce_scatter, all_reduce };
constexpr std::size_t kKinds = 5;

struct Call {
  Kind kind;
  const void* send;
  void* receive;
  std::size_t bytes;  // of one rank's part; of all for broadcast and all_reduce
  int root = 0;       // broadcast
  // Of reductions: fp32, fp16, bf16 or int32.
  DType type = DType::fp32;
  Reduction reduction = Reduction::sum;
};

bool reduces(Kind kind);

// Where parts of an all_reduce and pieces of parts begin, in bytes: for copy engines, and for
// kernels that reduce.
constexpr std::size_t kAlignment = 128;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// `bytes` at `from` of the source's send buffer go to `to` of the destination's receive buffer.
struct Part {
  std::size_t from = 0, to = 0, bytes = 0;
};

// What `source` sends to `destination`, which may be itself; 0 bytes: nothing, as in a
// reduce_scatter, whose parts go through slots (slots.h). Of an all_reduce: what `source` has
// reduced, in its receive buffer.
Part part(const Call& call, int source, int destination, int ranks);

// What `rank` reduces: at `from` of all ranks' send buffers, and at `to` of its receive buffer. Of
// an all_reduce the last ranks' parts are shorter, or empty.
Part reduced_part(const Call& call, int rank, int ranks);

// How long `rank`'s buffers are; 0: it has none.
std::size_t send_bytes(const Call& call, int rank, int ranks);
std::size_t receive_bytes(const Call& call, int ranks);
// The parts of all ranks together.
std::size_t all_bytes(const Call& call, int ranks);

// Up to how many bytes (all_bytes()) calls are, and captured ones, which copies cannot be. 0: none.
struct ChunkSizes {
  std::size_t most = 0, most_captured = 0;
};

// How a communicator's calls are made: alike on all ranks, but for wait_seconds_per_byte.
struct Method {
  // Of slots, a multiple of 128; they take 2 * (ranks - 1) * piece_bytes of each device's memory.
  // 0: no slots, and neither of the next two.
  std::size_t piece_bytes = 0;
  bool reduces = false;  // calls may be reductions
  bool staged = false;   // everything else goes through slots
  // Calls of so many bytes (all_bytes()) are exchanges of packets; a multiple of 128. They take 4 *
  // (ranks - 1) as many bytes of each device's memory. 0: none are.
  std::size_t most_by_packets = 0;
  // How long the first of a pair waits on the CPU for the other to come to a call in which each
  // sends the other something, for each byte that it sends.
  double wait_seconds_per_byte = 0;
  // By Kind: which calls that are not packets are exchanges of chunks.
  std::array<ChunkSizes, kKinds> chunks = {};
  // chunk_shape()'s. If any call is an exchange of chunks, they take some 100 times as many bytes
  // of each device's memory.
  std::size_t chunk_round = kChunkRound;

  bool has_chunks() const;
};

}  // namespace duet::nccl_shim
