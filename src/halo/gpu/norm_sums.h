// The norm of a sweep: sums of its blocks, added up by further blocks of the same kernel and
// exchanged with the other ranks. For the sweep's kernel, and for a test on the CPU that runs
// blocks and ranks as threads.
//
//   blocks that sweep   partial sums  --+
//   one behind 1,023 of them            +-> sum of a group  --+
//   the last block                                            +-> this rank's sum --> every rank
//                                            total of the call <-- every rank's sum --+
//
// Sums travel as packets (device/gpu/packet.h). A block waits for blocks before it alone, which a
// device starts first, and for other ranks.
#pragma once

#include <cstdint>
#include <cstring>

#include "device/gpu/packet.h"
#include "device/gpu/system_words.h"
#include "halo/gpu/sweep_exchange.h"

namespace duet::DUET_GPU {

// Blocks of a group that sweep.
__device__ inline unsigned sweeping_of_group(const gpu::SweepNorm& norm) {
  return (1U << norm.group_bits) - 1;
}
// Whether this is a block that adds up, of `blocks` in all.
__device__ inline bool adds_up(const gpu::SweepNorm& norm, unsigned block, unsigned blocks) {
  const unsigned last_of_group = sweeping_of_group(norm);
  return (block & last_of_group) == last_of_group || block + 1 == blocks;
}
// The number of a block that sweeps, among those that do.
__device__ inline unsigned number_of_sweeping(const gpu::SweepNorm& norm, unsigned block) {
  return block - (block >> norm.group_bits);
}

// The number of this call; that of the one before is one less. Never 0, as words are at first, and
// below the largest signed number: a plan makes fewer than 2^31 norms.
__device__ inline std::uint32_t number_of_call(const gpu::SweepNorm& norm) {
  return static_cast<std::uint32_t>(*norm.calls) + 1;
}

__device__ inline std::uint64_t bits_of(double sum) {
  std::uint64_t bits;
  memcpy(&bits, &sum, sizeof(bits));
  return bits;
}

__device__ inline void store_sum(std::uint64_t* packets, std::int64_t index, double sum,
                                 std::uint32_t number) {
  const std::uint64_t bits = bits_of(sum);
  const Pair halves{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
  store_relaxed(reinterpret_cast<Packet*>(packets) + index, packet_of(halves, number));
}

// If a rank is gone, the largest signed number is written to the words that it would write: a
// number above that of the call.
__device__ inline bool is_there(const Packet& packet, std::uint32_t number) {
  return packet.first >> 32 >= number && packet.second >> 32 >= number;
}

__device__ inline double sum_in(const Packet& packet) {
  const Pair halves = data_of(packet);
  const std::uint64_t bits = std::uint64_t{halves.y} << 32 | halves.x;
  double sum;
  memcpy(&sum, &bits, sizeof(sum));
  return sum;
}

// This thread's part of the sum of packets [begin, end), in an order that depends on their number
// alone. Loads are under way for several at a time.
__device__ inline double sum_of_packets(const std::uint64_t* packets, std::int64_t begin,
                                        std::int64_t end, std::uint32_t number) {
  constexpr int kTogether = 4;
  const auto* const all = reinterpret_cast<const Packet*>(packets);
  const std::int64_t threads = blockDim.x;
  double sum = 0;
  for (std::int64_t first = begin + threadIdx.x; first < end; first += kTogether * threads) {
    Packet loaded[kTogether] = {};
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i * threads < end) loaded[i] = load_relaxed(all + first + i * threads);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i * threads >= end) break;
      while (!is_there(loaded[i], number)) loaded[i] = load_relaxed(all + first + i * threads);
      sum += sum_in(loaded[i]);
    }
  }
  return sum;
}

// What this block adds up of one call. `sum_of_block` adds the values of all threads; thread 0 has
// the result.
template <typename SumOfBlock>
__device__ void add_up(const gpu::SweepNorm& norm, const gpu::SumsOfCall& call,
                       std::uint32_t number, SumOfBlock sum_of_block) {
  const bool one_thread = threadIdx.x == 0;
  const std::int64_t sweeping = sweeping_of_group(norm);
  const std::int64_t group = blockIdx.x >> norm.group_bits;
  const std::int64_t begin = group * sweeping;
  const std::int64_t end = begin + sweeping < norm.partials ? begin + sweeping : norm.partials;
  double sum = sum_of_block(sum_of_packets(call.partials, begin, end, number));
  if (blockIdx.x + 1 < gridDim.x) {
    if (one_thread) store_sum(call.groups, group, sum, number);
    return;
  }
  sum += sum_of_block(sum_of_packets(call.groups, 0, group, number));
  for (int rank = 0; one_thread && rank < norm.ranks; ++rank) {
    store_sum(norm.there[rank] + call.ranks_begin, norm.rank, sum, number);
  }
  const std::uint64_t* const here = norm.there[norm.rank] + call.ranks_begin;
  const double total = sum_of_block(sum_of_packets(here, 0, norm.ranks, number));
  // A store that the host, which may poll for it, sees before the kernel ends.
  if (one_thread) store_relaxed(reinterpret_cast<std::uint64_t*>(call.total), bits_of(total));
}

// A block that adds up: the sums that the call before has left, then those of this call.
template <typename SumOfBlock>
__device__ void add_up_sums(const gpu::SweepNorm& norm, SumOfBlock sum_of_block) {
  const std::uint32_t number = number_of_call(norm);
  if (norm.before.total != nullptr) add_up(norm, norm.before, number - 1, sum_of_block);
  if (norm.own.total != nullptr) add_up(norm, norm.own, number, sum_of_block);
  if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x) *norm.calls_of_next = number;
}

}  // namespace duet::DUET_GPU
