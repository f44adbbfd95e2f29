// Access to words of memory that several devices write and read while their kernels run.
#pragma once

#include <cstdint>

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Side by side, at a multiple of 16 bytes. Each is stored, and loaded, as a whole.
struct TwoWords {
  std::uint64_t first, second;
};

#ifdef DUET_GPU_HIP
// Waits for the L2 cache's write-back that a release begins. On gfx9 compilers up to LLVM 22 leave
// this wait out where they know of no store in flight (llvm-project's pull request 178316), so that
// a word would be written before what it releases.
__device__ inline void finish_write_back() {
#ifdef __GFX9__
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
}
__device__ inline void fence_of_system() {
  __threadfence_system();
  finish_write_back();
}
__device__ inline void fence_of_device() {
  __threadfence();
  finish_write_back();
}
__device__ inline void store_release(std::uint64_t* word, std::uint64_t value) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  finish_write_back();
  __hip_atomic_store(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline std::uint64_t load_acquire(const std::uint64_t* word) {
  return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline std::uint32_t load_acquire(const std::uint32_t* word) {
  return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void store_relaxed(std::uint64_t* word, std::uint64_t value) {
  __hip_atomic_store(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void store_relaxed(std::uint32_t* word, std::uint32_t value) {
  __hip_atomic_store(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline std::uint64_t load_relaxed(const std::uint64_t* word) {
  return __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline std::uint32_t load_relaxed(const std::uint32_t* word) {
  return __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void store_release(std::uint32_t* word, std::uint32_t value) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  finish_write_back();
  store_relaxed(word, value);
}
__device__ inline void store_relaxed(TwoWords* words, const TwoWords& values) {
  store_relaxed(&words->first, values.first);
  store_relaxed(&words->second, values.second);
}
__device__ inline TwoWords load_relaxed(const TwoWords* words) {
  return {load_relaxed(&words->first), load_relaxed(&words->second)};
}
// Called by every thread before one thread signals. On AMD a block's barrier does not wait for
// stores that are in flight, and a release waits for the stores of its own wave only, so each
// thread must wait for its own stores.
__device__ inline void finish_stores() { fence_of_system(); }
#else
__device__ inline void fence_of_system() { __threadfence_system(); }
__device__ inline void fence_of_device() { __threadfence(); }
__device__ inline void store_release(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ inline std::uint64_t load_acquire(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline std::uint32_t load_acquire(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void store_relaxed(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ inline std::uint64_t load_relaxed(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void store_release(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ inline void store_relaxed(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ inline std::uint32_t load_relaxed(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void store_relaxed(TwoWords* words, const TwoWords& values) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(words), "l"(values.first),
               "l"(values.second)
               : "memory");
}
__device__ inline TwoWords load_relaxed(const TwoWords* words) {
  TwoWords values;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(values.first), "=l"(values.second)
               : "l"(words)
               : "memory");
  return values;
}
// On NVIDIA a release covers the stores of all threads that the block's barrier has ordered before
// it.
__device__ inline void finish_stores() {}
#endif

}  // namespace duet::DUET_GPU
