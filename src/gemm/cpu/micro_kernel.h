// The innermost loop of Duet's own CPU GEMM: one tile of C in AVX-512 registers. Not the blocking
// (blocked_gemm.h), and not the choice of a CPU path by anyone but `micro_kernel`.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace duet {

// 14 x 2 vectors of C take 28 of the 32 registers; two hold B and one a broadcast of A, so that 28
// multiply-adds need 16 loads: under the two loads a cycle that the FMA pipes leave.
constexpr int kTileRows = 14;
constexpr int kTileColumns = 32;

// Operands are packed in 32-bit words of consecutive k: one fp32, or two bf16.
struct TileArguments {
  std::int64_t words = 0;
  const std::uint32_t* a = nullptr;  // (words, kTileRows)
  const std::uint32_t* b = nullptr;  // (words, kTileColumns)
  float* c = nullptr;                // (kTileRows, kTileColumns), without gaps
  bool add = false;                  // to c, or else set it
  // What later calls will read, to be brought into L2 meanwhile: words x 4 bytes of A and
  // words x 8 bytes of B.
  const char* next_a = nullptr;
  const char* next_b = nullptr;
};

using MicroKernel = void (*)(const TileArguments& arguments);

// nullptr where this CPU has no such instructions.
MicroKernel micro_kernel(DType dtype);

}  // namespace duet
