// What the kernels of packets are launched with, for the code of CPUs and of GPUs.
#pragma once

#include <cstdint>

#include "device/gpu/chunk_table.h"
#include "device/gpu/packet_table.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

// Where the device finds an exchange's words: as ExchangeWords.
struct WordsOnDevice {
  const std::uint32_t* ended;
  std::uint32_t* awaited;
};

// The kernel is duet_exchange, or duet_exchange_TYPE_OPERATION where parts are reduced, of
// gpu::packet_blocks(bytes, kPacketBlocks) blocks.
struct PacketArguments {
  gpu::PacketTable exchange;
  WordsOnDevice words;
};

// `words`: where the device finds exchanged.words. Throws BadArgument for more than
// kMostPacketPeers peers; with more than kMostRanks ranks, packets must not be late, as
// ExchangeWords::awaited has no word for them.
PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words);

// The kernel is duet_chunks, or duet_chunks_TYPE_OPERATION where parts are reduced, of `blocks`
// blocks.
struct ChunkArguments {
  gpu::ChunkTable exchange;
  WordsOnDevice words;
  std::uint32_t blocks;
};

// As packet_arguments(). All addresses of reductions are multiples of an element's size.
ChunkArguments chunk_arguments(const ChunkExchange& exchanged, std::uintptr_t words);

// What kernels of reductions are launched with, for the code of CPUs and of GPUs.
constexpr std::uint32_t kMostParts = 8;

// Block b, of kKernelThreads threads (device/collective_kernel.h), reduces its slice of all parts.
// The kernel of an element type and an operation is duet_reduce_TYPE_OPERATION.
struct ReduceArguments {
  unsigned char* addresses[kMostParts + 1];  // of the parts, in their order, then of the result
  std::uint64_t bytes;                       // of one part
  std::uint32_t parts;
  std::uint32_t share;   // vectors of 16 bytes of every block but the last ones
  std::uint32_t width;   // 16 where all addresses are as far from a multiple of it; else 1
  std::int32_t divisor;  // of the reduced values
};

// How many blocks reduce them; 0 for 0 bytes. Few, so that a GEMM beside keeps the other compute
// units.
int reduce_blocks(const PartsToReduce& reduced);

// For a launch of so many blocks. Throws BadArgument for more than kMostParts.
ReduceArguments reduce_arguments(const PartsToReduce& reduced, int blocks);

}  // namespace duet::nccl_shim::cuda

// Which kernels reduce: of every type and operation that the drop-in takes over. An average is a
// sum that is divided.

// KERNEL(type, Lanes, operation, Op) for each: Lanes and Op of device/gpu/reduction_words.h, and
// the names by which KernelsByType finds them.
#define DUET_FOR_REDUCED_TYPE(KERNEL, type, Lanes) \
  KERNEL(type, Lanes, sum, Sum)                    \
  KERNEL(type, Lanes, max, Max)                    \
  KERNEL(type, Lanes, min, Min)
#define DUET_FOR_REDUCING_KERNELS(KERNEL)        \
  DUET_FOR_REDUCED_TYPE(KERNEL, fp32, Fp32Lanes) \
  DUET_FOR_REDUCED_TYPE(KERNEL, fp16, Fp16Lanes) \
  DUET_FOR_REDUCED_TYPE(KERNEL, bf16, Bf16Lanes) \
  DUET_FOR_REDUCED_TYPE(KERNEL, int32, Int32Lanes)
