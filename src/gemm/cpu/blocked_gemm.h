// Duet's own CPU GEMM: operands packed once, then macro tiles of C over all of K with the tile's
// fp32 sums in cache. fp32 and bf16 on AVX-512; it exists because oneDNN 2.6 leaves a fifth of a
// Zen 5 core's bf16 rate unused (sides of 4096, layout nn).
#pragma once

#include <cstdint>

#include "gemm/problem.h"

namespace duet {

struct BlockedOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  void* workspace = nullptr;  // blocked_workspace_bytes(), aligned to 64
};

// Is there a path for the dtype on this CPU?
bool blocked_supported(const GemmProblem& problem);
std::uint64_t blocked_workspace_bytes(const GemmProblem& problem, int threads);

// On `threads` OpenMP threads; packs on every call.
void blocked_gemm(const GemmProblem& problem, const BlockedOperands& operands, int threads);

}  // namespace duet
