// Stands before the header of the same name where the text of kernels runs on the CPU: a thread is
// a block of one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#define DUET_GPU cpu_blocks
#define __device__

struct BlockNumbers {
  unsigned x;
};
inline thread_local BlockNumbers threadIdx{0}, blockIdx{0}, blockDim{1}, gridDim{1};

inline void __syncthreads() {}
inline int __syncthreads_or(int vote) { return vote; }
template <typename Word>
Word atomicAdd(Word* word, Word value) {
  return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

namespace duet::DUET_GPU {

struct TwoWords {
  std::uint64_t first, second;
};

inline void fence_of_device() {}  // atomicAdd() releases and acquires
inline void fence_of_system() {}
inline void finish_stores() {}
inline void store_release(std::uint64_t* word, std::uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
inline std::uint64_t load_acquire(const std::uint64_t* word) {
  std::this_thread::yield();
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
inline void store_release(std::uint32_t* word, std::uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
inline std::uint32_t load_acquire(const std::uint32_t* word) {
  std::this_thread::yield();
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
template <typename Word>
void store_relaxed(Word* word, Word value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
template <typename Word>
Word load_relaxed(const Word* word) {
  std::this_thread::yield();
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}
// Apart, and in either order.
inline void store_relaxed(TwoWords* words, const TwoWords& values) {
  static std::atomic<unsigned> stores{0};
  const bool first_is_first = stores++ % 2 == 0;
  store_relaxed(first_is_first ? &words->first : &words->second,
                first_is_first ? values.first : values.second);
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  store_relaxed(first_is_first ? &words->second : &words->first,
                first_is_first ? values.second : values.first);
}
inline TwoWords load_relaxed(const TwoWords* words) {
  std::this_thread::yield();
  return {__atomic_load_n(&words->first, __ATOMIC_RELAXED),
          __atomic_load_n(&words->second, __ATOMIC_RELAXED)};
}

}  // namespace duet::DUET_GPU
