// A PeerKernel in the form that the GPU reads. With few peers the whole table is a kernel
// parameter: following pointers from one table in device memory to the next would take longer than
// the barrier's signals take over the link. With many peers the lists are in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/collective_kernel.h"

namespace duet::gpu {

inline constexpr std::size_t kFewPeers = 16;
inline constexpr std::size_t kFewSpans = 64;  // spans of all items together

// A copy from one source to one destination. `Place` is the type of an index into the list of
// addresses.
template <typename Place>
struct PeerMove {
  std::uint64_t bytes = 0;
  std::uint32_t share = 0;  // first_share(): vectors of 16 bytes in the first block's slice
  Place source = 0;
  Place destination = 0;
  Place width = 0;  // common_width() of both addresses: 16, 4 or 1 bytes
};

// A reduction. Its addresses begin at `first` in the list: the sources, then the destinations.
template <typename Place>
struct PeerReduction {
  std::uint64_t bytes = 0;
  std::uint32_t share = 0;  // as in PeerMove
  Place first = 0;
  Place sources = 0;
  Place destinations = 0;
  Place width = 0;  // common_width() of all addresses
};

// The members that both forms of the table share.
struct PeerKernelHead {
  std::uint64_t* calls = nullptr;  // number of calls so far, one word per block, in device memory
  int move_count = 0;
  int reduction_count = 0;
  int peers = 0;
  bool averages = false;
  bool writes_out = false;  // the kernel writes to memory other than this device's own
  bool opens = true;        // a barrier before the items
  bool closes = true;       // a barrier after the items
};

// `arrivals` and `awaits` have one entry per peer, which points to one word per block.
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
