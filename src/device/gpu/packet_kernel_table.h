// A PacketKernel in the form that the GPU reads, as a kernel parameter.
#pragma once

#include <cstdint>

#include "device/collective_kernel.h"

namespace duet::gpu {

// The addresses of a packet kernel that belong to one peer.
struct PacketPeerPointers {
  const unsigned char* source = nullptr;
  unsigned char* to_peer = nullptr;
  const unsigned char* from_peer = nullptr;
  unsigned char* destination = nullptr;
  const std::uint64_t* awaits = nullptr;  // one word per block; non-zero: the peer has failed
};

struct PacketKernelTable {
  std::uint64_t* calls = nullptr;  // number of calls so far, one word per block, in device memory
  const unsigned char* source = nullptr;
  unsigned char* destination = nullptr;
  std::uint32_t units = 0;  // packets in a rank's part
  std::int32_t peers = 0;
  bool averages = false;
  PacketPeerPointers by_peer[kMostPacketPeers];
};

}  // namespace duet::gpu
