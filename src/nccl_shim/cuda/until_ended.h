// When the kernels of exchanges give up waiting.
#pragma once

#include <cstdint>

#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// Tells the CPU which ranks' data are missing. False if the CPU has ended the wait. `Arguments`:
// those of packets or of chunks (kernel_arguments.h).
template <typename Arguments, typename Missing>
__device__ bool goes_on_until_ended(const Arguments& of, const Missing& is_missing) {
  for (std::uint32_t p = 0; p < of.exchange.count; ++p) {
    if (is_missing(p)) store_relaxed(of.words.awaited + (p < of.exchange.rank ? p : p + 1), 1u);
  }
  return load_relaxed(of.words.ended) == 0;
}

}  // namespace duet::DUET_GPU
