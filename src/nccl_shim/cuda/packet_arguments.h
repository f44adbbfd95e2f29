// What the kernel of packets is launched with, for the code of CPUs and of GPUs.
#pragma once

#include <cstdint>

namespace duet::nccl_shim::cuda {

constexpr std::uint32_t kMostExchanging = 7;  // peers

// As PacketExchange. kPacketBlocks blocks at most, of kKernelThreads threads
// (device/collective_kernel.h): block b counts calls for itself, and for those that are not there,
// at places b, b + blocks, ...
struct PacketArguments {
  struct Peer {
    const unsigned char* send;
    unsigned char* to;  // packet buffers: multiples of 16
    const unsigned char* from;
    unsigned char* receive;
  };
  Peer peers[kMostExchanging];
  std::uint32_t* last;
  std::uint32_t* begun;  // as PacketWords
  std::uint32_t* made;
  const std::uint32_t* ended;
  std::uint64_t bytes, turn;
  std::uint32_t count;   // of peers
  std::uint32_t places;  // kPacketBlocks
  std::uint32_t wide;    // 1: all `send` and `receive` are multiples of 8
};

}  // namespace duet::nccl_shim::cuda
