// The calls that the protocol makes, as copies between the buffers of two ranks, or through slots.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/reduction.h"

namespace duet::nccl_shim {

enum class Kind : std::uint32_t { all_gather, all_to_all, broadcast, reduce_scatter };
constexpr std::size_t kKinds = 4;

struct Call {
  Kind kind;
  const void* send;
  void* receive;
  std::size_t bytes;  // of one rank's part; of all for broadcast
  int root = 0;       // broadcast
  // reduce_scatter: fp32, fp16, bf16 or int32.
  DType type = DType::fp32;
  Reduction reduction = Reduction::sum;
};

// `bytes` at `from` of the source's send buffer go to `to` of the destination's receive buffer.
struct Part {
  std::size_t from = 0, to = 0, bytes = 0;
};

// What `source` sends to `destination`, which may be itself; 0 bytes: nothing, as in a
// reduce_scatter, whose parts go through slots (pair_copies.h).
Part part(const Call& call, int source, int destination);

// How long `rank`'s buffers are; 0: it has none.
std::size_t send_bytes(const Call& call, int rank, int ranks);
std::size_t receive_bytes(const Call& call, int ranks);
// The parts of all ranks together.
std::size_t all_bytes(const Call& call, int ranks);

}  // namespace duet::nccl_shim
