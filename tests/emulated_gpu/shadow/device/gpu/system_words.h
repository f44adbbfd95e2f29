// Stands before the file of the same name. Blocks run one after the other, so a word of 64 bits
// that is not as awaited never will be: the kernel would spin for ever, and the program ends
// instead. Words of 32 bits may be those of another process.
#pragma once

#include <sched.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

struct TwoWords {
  std::uint64_t first, second;
};

inline void store_release(std::uint64_t* word, std::uint64_t value) { *word = value; }
inline void count_poll(const std::uint64_t* word) {
  constexpr int kMostPolls = 1000;
  static const std::uint64_t* last = nullptr;
  static int polls = 0;
  polls = word == last ? polls + 1 : 0;
  last = word;
  if (polls > kMostPolls) {
    std::fputs("emulated kernel: a block waits for a word that nobody writes\n", stderr);
    std::abort();
  }
}
inline std::uint64_t load_acquire(const std::uint64_t* word) {
  count_poll(word);
  return *word;
}
inline std::uint64_t load_relaxed(const std::uint64_t* word) { return load_acquire(word); }
inline void store_relaxed(std::uint64_t* word, std::uint64_t value) { *word = value; }
inline void store_release(std::uint32_t* word, std::uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
// By threads that have waited for long.
inline void store_relaxed(std::uint32_t* word, std::uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
  sched_yield();
}
inline std::uint32_t load_relaxed(const std::uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}
inline std::uint32_t load_acquire(const std::uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
inline void store_relaxed(TwoWords* words, const TwoWords& values) { *words = values; }
inline TwoWords load_relaxed(const TwoWords* words) {
  count_poll(&words->first);
  return *words;
}
inline void finish_stores() {}
inline void fence_of_system() {}
inline void fence_of_device() {}

}  // namespace duet::DUET_GPU
