// What the kernels of packets are launched with, for the code of CPUs and of GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

constexpr std::uint32_t kMostExchanging = 7;  // peers

// As PacketExchange. The kernel is duet_exchange, or duet_exchange_TYPE_OPERATION where parts are
// reduced. kPacketBlocks blocks at most, of kKernelThreads threads (device/collective_kernel.h):
// block b counts calls for itself, and for those that are not there, at places b, b + blocks, ...
struct PacketArguments {
  struct Peer {
    const unsigned char* send;
    unsigned char* to;  // packet buffers: multiples of 16
    const unsigned char* from;
    unsigned char* receive;
  };
  Peer peers[kMostExchanging];
  const unsigned char* own;
  unsigned char* result;
  std::uint32_t* last;
  const std::uint32_t* ended;  // as PacketWords
  std::uint32_t* awaited;
  std::uint64_t bytes, turn;
  std::uint32_t count;  // of peers
  std::uint32_t rank;
  std::int32_t divisor;  // of reduced values
  std::uint32_t places;  // kPacketBlocks
  std::uint32_t wide;    // 1: all addresses of parts are multiples of 8
};

int packet_blocks(std::size_t bytes);  // of a part
// `words`: the address of the exchange's for the device. Throws BadArgument for more than
// kMostExchanging peers.
PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words);

}  // namespace duet::nccl_shim::cuda
