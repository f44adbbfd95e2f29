// What a kernel that exchanges packets reads, for the code of CPUs and of GPUs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "device/collective_kernel.h"
#include "device/gpu/norm_table.h"

namespace duet::gpu {

// One rank's. Parts are of one size, which may be any, and have any address.
struct PacketTable {
  struct Peer {
    const unsigned char* source;  // this rank's part for the peer
    unsigned char* to;            // packet buffer at the peer; a multiple of 16, as `from`
    unsigned char* from;          // packet buffer at this rank; a kernel may clear it
    unsigned char* target;        // for the peer's part; unused where parts are reduced
  };
  Peer peers[kMostPacketPeers];  // in the order of ranks, without this one
  const unsigned char* own;      // this rank's part for itself
  unsigned char* result;         // for that part, or for what is reduced
  std::uint32_t* last;           // `places` words, each with Turn::number of the last call
  std::uint64_t bytes;           // of a part
  std::uint64_t turn;            // bytes between the packets of calls that follow each other
  std::uint32_t count;           // of peers
  std::uint32_t rank;            // this rank, of count + 1
  std::int32_t divisor;          // of what is reduced
  std::uint32_t places;   // of `last`; block b reads word b and writes words b, b + blocks, ...
  std::uint32_t aligned;  // 1: the addresses of all parts are multiples of 8
};

// PacketTable::aligned, of the other members.
inline std::uint32_t has_aligned_parts(const PacketTable& table) {
  auto together =
      reinterpret_cast<std::uintptr_t>(table.own) | reinterpret_cast<std::uintptr_t>(table.result);
  for (std::uint32_t i = 0; i < table.count; ++i) {
    together |= reinterpret_cast<std::uintptr_t>(table.peers[i].source) |
                reinterpret_cast<std::uintptr_t>(table.peers[i].target);
  }
  return together % kPacketDataBytes == 0 ? 1 : 0;
}

// PacketTable::turn for parts of `bytes` bytes.
inline std::uint64_t turn_bytes(std::uint64_t bytes, bool numbered) {
  const std::uint64_t all = packet_buffer_bytes(bytes) / 2;
  return numbered ? all : all / 2;
}

// Blocks of kKernelThreads threads for parts of so many bytes: one packet per thread, or `most`.
inline int packet_blocks(std::size_t bytes, std::size_t most) {
  constexpr std::size_t kRound = kPacketDataBytes * kKernelThreads;
  return static_cast<int>(std::clamp<std::size_t>((bytes + kRound - 1) / kRound, 1, most));
}

// A PacketKernel.
struct PacketKernelTable {
  PacketTable exchange;
  // By peer: the first of its words in PacketKernel::barrier; not 0: the peer has failed.
  const std::uint64_t* failed[kMostPacketPeers];
  NormRows norm;  // of the sum
};

// What a PacketKernel does with what arrives: it is moved, or reduced.
struct PacketUse {
  bool reduces, numbered;
  DType dtype;
  Reduction op;
};

}  // namespace duet::gpu
