// Streams for copies by engines that Duet chooses, on devices that have them (hip): their copies
// and waits take no compute units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/buffer.h"
#include "device/stream.h"

namespace duet {

// A spaced semaphore has the form of ROCr's signals (amd_hsa_signal.h), for which an AMD GPU's
// queues can wait: 64 bytes of its own, aligned to 64, in which it is behind a word that is 1.
inline constexpr std::size_t kSpacedBytes = 64;
inline constexpr std::uint64_t kSpacedFirst = 1;

// Semaphore `index` of memory that begins with spaced semaphores.
inline Semaphore spaced_semaphore_at(const Span& memory, std::size_t index) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  return {memory.slice(index * kSpacedBytes, kSpacedBytes).slice(word, word)};
}

// Implemented by devices besides Device.
class EngineStreams {
 public:
  virtual ~EngineStreams() = default;
  // A stream for copies by Executor::sdma, which can do all else later than a plain stream, but not
  // be captured. Its waits for semaphores that lie in memory of allocate_spaced() take no compute
  // units. nullptr: plain streams are no worse. Throws Unavailable with the reason.
  virtual std::unique_ptr<Stream> make_engine_stream(const StreamOptions& options) = 0;
  // Coherent memory for spaced semaphores, whose first words the caller writes before any wait.
  virtual Buffer allocate_spaced(std::uint64_t bytes) = 0;
};

}  // namespace duet
