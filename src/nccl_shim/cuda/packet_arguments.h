// What the kernel of packets is launched with, for the code of CPUs and of GPUs.
#pragma once

#include <cstdint>

namespace duet::nccl_shim::cuda {

constexpr std::uint32_t kMostExchanging = 7;  // peers

// As PacketExchange. Any number of blocks, of kKernelThreads threads (device/collective_kernel.h).
struct PacketArguments {
  struct Peer {
    const unsigned char* send;
    unsigned char* to;  // packet buffers: multiples of 16
    const unsigned char* from;
    unsigned char* receive;
  };
  Peer peers[kMostExchanging];
  const std::uint32_t* end;
  std::uint64_t bytes;
  std::uint32_t count;  // of peers
  std::uint32_t number;
  std::uint32_t wide;  // 1: all `send` and `receive` are multiples of 8
};

}  // namespace duet::nccl_shim::cuda
