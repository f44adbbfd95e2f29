#pragma once

#include <cstdint>

namespace duet::DUET_GPU {

// nanoseconds() reads a clock that all threads of a GPU share.
#ifdef DUET_GPU_HIP
// The constant clock of AMD's Instinct GPUs runs at 100 MHz.
__device__ inline std::uint64_t nanoseconds() { return 10 * __builtin_amdgcn_s_memrealtime(); }
#else
__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}
#endif

}  // namespace duet::DUET_GPU
