// What kernels that normalise rows read, for the code of CPUs and of GPUs.
#pragma once

#include <cstdint>

#include "device/collective_kernel.h"

namespace duet::gpu {

inline constexpr std::uint32_t kNormThreads = kKernelThreads;
inline constexpr std::uint32_t kMostNormBlocks = 8;  // that share a row, as a cluster
// Of 8 bytes, that a thread has of the longest row.
inline constexpr std::uint32_t kNormUnits = kMostNormRow / kPacketDataBytes / kNormThreads;

// A RowNorm. A unit is 8 bytes.
struct NormRows {
  const unsigned char* residual;
  unsigned char* updated;
  const unsigned char* weight;
  unsigned char* result;
  std::uint32_t units;   // of a row
  std::uint32_t rows;    // 0: nothing is normalised
  std::uint32_t blocks;  // that share a row: adjacent ones
  float columns;
  float epsilon;
};

// A NormKernel.
struct NormTable {
  NormRows norm;
  const unsigned char* sources[kMostPacketPeers + 1];
  std::uint32_t count;  // of sources
};

inline NormRows norm_rows(const RowNorm& norm, const Span& result) {
  const auto bytes = [](const Span& span) { return reinterpret_cast<unsigned char*>(span.data); };
  return {bytes(norm.residual),
          bytes(norm.updated),
          bytes(norm.weight),
          bytes(result),
          static_cast<std::uint32_t>(norm.weight.bytes / kPacketDataBytes),
          static_cast<std::uint32_t>(result.bytes / norm.weight.bytes),
          1,
          static_cast<float>(norm.columns),
          norm.epsilon};
}

// Whether the rows begin at multiples of 8 bytes.
inline bool has_aligned_rows(const NormRows& of) {
  const auto together =
      reinterpret_cast<std::uintptr_t>(of.residual) | reinterpret_cast<std::uintptr_t>(of.updated) |
      reinterpret_cast<std::uintptr_t>(of.weight) | reinterpret_cast<std::uintptr_t>(of.result);
  return together % kPacketDataBytes == 0;
}

// How many blocks share a row: as many as leave each thread a unit, while all are at most `most`.
inline std::uint32_t blocks_of_row(const NormRows& of, std::uint32_t most) {
  std::uint32_t blocks = 1;
  while (blocks < kMostNormBlocks && blocks * kNormThreads < of.units &&
         2 * blocks * of.rows <= most)
    blocks *= 2;
  return blocks;
}

}  // namespace duet::gpu
