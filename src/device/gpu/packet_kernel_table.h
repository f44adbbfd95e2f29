// A PacketKernel as the GPU reads it, in the kernel's parameters.
#pragma once

#include <cstdint>

#include "device/collective_kernel.h"

namespace duet::gpu {

struct PacketPeerPointers {
  const unsigned char* source = nullptr;
  unsigned char* to_peer = nullptr;
  const unsigned char* from_peer = nullptr;
  unsigned char* destination = nullptr;
  const std::uint64_t* awaits = nullptr;  // a word for each block, set when the peer is gone
};

struct PacketKernelTable {
  std::uint64_t* calls = nullptr;  // that each block has had, in device memory
  const unsigned char* source = nullptr;
  unsigned char* destination = nullptr;
  std::uint32_t units = 0;  // of a part
  std::int32_t peers = 0;
  bool averages = false;
  PacketPeerPointers by_peer[kMostPacketPeers];
};

}  // namespace duet::gpu
