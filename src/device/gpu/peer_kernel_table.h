// A PeerKernel as the GPU reads it. With few peers the table is the kernel's parameter: to follow
// pointers from one table in memory to the next would take longer than a barrier's signals take
// over the link. With many peers the lists are in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/collective_kernel.h"

namespace duet::gpu {

inline constexpr std::size_t kFewPeers = 16;
inline constexpr std::size_t kFewSpans = 64;  // of all items

// One source to one destination. A `Place` is one in the list of addresses.
template <typename Place>
struct PeerMove {
  std::uint64_t bytes = 0;
  std::uint32_t share = 0;  // vectors of 16 bytes that are the first block's
  Place source = 0;
  Place destination = 0;
  Place width = 0;  // bytes by which both addresses are alike: 16, 4 or 1
};

// The addresses from `first` on are those of the sources, after them the destinations'.
template <typename Place>
struct PeerReduction {
  std::uint64_t bytes = 0;
  std::uint32_t share = 0;  // as above
  Place first = 0;
  Place sources = 0;
  Place destinations = 0;
  Place width = 0;  // of all addresses
};

struct PeerKernelHead {
  std::uint64_t* calls = nullptr;  // that each block has had, in device memory
  int move_count = 0;
  int reduction_count = 0;
  int peers = 0;
  bool averages = false;
  bool writes_out = false;  // to other memory than this device's own
  bool opens = true;        // a barrier before the items
  bool closes = true;       // and after them
};

// arrivals and awaits by peer: a word for each block.
struct FewPeersTable : PeerKernelHead {
  unsigned char* addresses[kFewSpans] = {};
  PeerMove<std::uint8_t> moves[kFewSpans - 1];
  PeerReduction<std::uint8_t> reductions[kFewSpans / 3];
  std::uint64_t* arrivals[kFewPeers] = {};
  std::uint64_t* awaits[kFewPeers] = {};
};

static_assert(sizeof(FewPeersTable) <= 4096, "what a kernel's parameters hold");

struct ManyPeersTable : PeerKernelHead {
  unsigned char* const* addresses = nullptr;
  const PeerMove<std::uint32_t>* moves = nullptr;
  const PeerReduction<std::uint32_t>* reductions = nullptr;
  std::uint64_t* const* arrivals = nullptr;
  std::uint64_t* const* awaits = nullptr;
};

}  // namespace duet::gpu
