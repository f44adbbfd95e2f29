#pragma once

#include <cstdint>

#include "core/random.h"
#include "device/device.h"

namespace duet::gpu {

// The bytes of a pattern or a constant as a function of their position, for kernels.
struct ByteSequence {
  bool random = true;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

inline ByteSequence bytes_of(const Fill& fill) {
  return {fill.kind == FillKind::pattern, fill.seed, fill.offset};
}

// Bytes i to i + 7 of the sequence, byte i in the lowest 8 bits.
DUET_HOST_DEVICE inline std::uint64_t word_at(const ByteSequence& sequence, std::uint64_t i) {
  if (!sequence.random) return (sequence.seed & 0xFF) * 0x0101010101010101ull;
  const std::uint64_t at = sequence.offset + i;
  const std::uint64_t shift = 8 * (at % 8);
  const std::uint64_t low = random_word(sequence.seed, at / 8);
  if (shift == 0) return low;
  return (low >> shift) | (random_word(sequence.seed, at / 8 + 1) << (64 - shift));
}

DUET_HOST_DEVICE inline unsigned char byte_at(const ByteSequence& sequence, std::uint64_t i) {
  return sequence.random ? pattern_byte(sequence.seed, sequence.offset + i)
                         : static_cast<unsigned char>(sequence.seed);
}

}  // namespace duet::gpu
