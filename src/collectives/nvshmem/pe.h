// A rank as a PE of NVSHMEM: a process with one GPU.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "collectives/memory.h"
#include "collectives/nvshmem/calls.h"
#include "collectives/session/watchdog.h"
#include "device/device.h"

namespace duet::nvshmem {

// Throws Error with the library's reason unless `result` is 0.
void require(const Calls& calls, int result, const char* what);

// Throws Unavailable where a process has several GPUs. Collective among processes; called outside
// Team::each().
void require_one_gpu_a_process(const Calls& calls, Team& team);

// PEs find each other by an id that rank 0 makes. Collective, inside Team::each().
void join(const Calls& calls, Rank& rank);

// Symmetric memory of one PE, as a span of its device. After a failure it is not freed: freeing is
// a collective call, and NVSHMEM cannot abort one.
class SymmetricMemory : public CollectiveMemory {
 public:
  // Collective. Throws OutOfMemory.
  SymmetricMemory(const Calls& calls, Rank& rank, std::size_t bytes, const Watchdog& watchdog);
  ~SymmetricMemory() override;
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;
  Span span() const override { return span_; }

 private:
  const Calls& calls_;
  int pe_;
  const Watchdog& watchdog_;
  int made_at_;
  void* memory_;
  Span span_;
};

// A 64-bit word of symmetric memory as a span, for the device's functions.
inline Span word_span(Device& device, std::uint64_t* word) {
  return device.adopt(word, sizeof *word);
}

// Sets the words to a number above every count, so that whatever waits for one goes on.
void release_words(Device& device, std::uint64_t* words, std::size_t count) noexcept;

// Makes one of the library's calls on a stream: `call` takes the native stream. On a device of the
// CPU it is a task, whose stream is nullptr.
template <typename Call>
void enqueue_call(const Calls& calls, Device& device, Stream& stream, const char* name,
                  const Call& call) {
  if (device.info().cpu_addressable) {
    stream.run({name, {}, [&calls, name, call] { require(calls, call(nullptr), name); }});
    return;
  }
  device.make_current();
  require(calls, call(stream.native()), name);
}

}  // namespace duet::nvshmem
