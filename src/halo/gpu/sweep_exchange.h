#pragma once

#include <cstdint>

namespace duet::gpu {

// The boundary rows and their exchange by the first blocks of a sweep: see ExchangingSweep.
struct SweepExchange {
  std::int64_t rows = 0;
  float *halo_above = nullptr, *halo_below = nullptr;  // at the neighbours; nullptr: by copies
  std::uint64_t *from_above = nullptr, *from_below = nullptr;  // of the field read
  std::uint64_t *to_above = nullptr, *to_below = nullptr;      // of the field written
  std::uint64_t* calls = nullptr;  // how often the kernel has run; the kernel counts
  unsigned* finished = nullptr;    // three counters of blocks, 0 between two calls
  bool opens = false;              // by copies
  bool closes = false;             // by stores
};

// Of one call. Packets are pairs of words, see norm_sums.h.
struct SumsOfCall {
  std::uint64_t* partials = nullptr;  // packets of the blocks that sweep
  std::uint64_t* groups = nullptr;    // packets of the blocks that add up
  std::int64_t ranks_begin = 0;       // words before the ranks' packets of the call
  double* total = nullptr;            // nullptr: not added up by this kernel
};

// Groups of a kernel with so many blocks that sweep. A group has 2^group_bits blocks, so that no
// block begins with a division: the last of a group adds up, all others sweep.
constexpr std::int64_t groups_of(std::int64_t sweeping, unsigned group_bits) {
  const std::int64_t of_group = (std::int64_t{1} << group_bits) - 1;
  return (sweeping + of_group - 1) / of_group;
}

// The norm that a sweep makes: see NormOfSweep. Calls alternate between two sets of packets and of
// counters, so that no block writes what another block of the same call reads.
struct SweepNorm {
  bool made = false;
  unsigned group_bits = 1;    // groups have 2^group_bits blocks, the last may have fewer
  std::int64_t partials = 0;  // blocks that sweep
  int ranks = 1, rank = 0;    // of the ring, and which one this is
  std::uint64_t* const* there = nullptr;   // where each rank gets packets of all ranks
  const std::uint64_t* calls = nullptr;    // that came before this one
  std::uint64_t* calls_of_next = nullptr;  // likewise, for the next one
  SumsOfCall own, before;                  // of this call, and of the one before
};

}  // namespace duet::gpu
