#pragma once

#include <cstdint>

#include "core/random.h"
#include "device/device.h"

namespace duet::gpu {

// The bytes of a pattern, of units or of a constant as a function of their position, for kernels.
struct ByteSequence {
  FillKind kind = FillKind::pattern;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

inline ByteSequence bytes_of(const Fill& fill) { return {fill.kind, fill.seed, fill.offset}; }

// The byte at position `at` of the units `seed`.
DUET_HOST_DEVICE inline unsigned char unit_byte(std::uint64_t seed, std::uint64_t at) {
  return static_cast<unsigned char>(random_unit_bits(seed, at / 4) >> (8 * (at % 4)));
}

// Bytes i to i + 7 of the sequence, byte i in the lowest 8 bits.
DUET_HOST_DEVICE inline std::uint64_t word_at(const ByteSequence& sequence, std::uint64_t i) {
  if (sequence.kind == FillKind::constant) return (sequence.seed & 0xFF) * 0x0101010101010101ull;
  const std::uint64_t at = sequence.offset + i;
  if (sequence.kind == FillKind::unit) {
    std::uint64_t word = 0;
    for (std::uint64_t k = 0; k < 8; ++k) {
      word |= std::uint64_t{unit_byte(sequence.seed, at + k)} << (8 * k);
    }
    return word;
  }
  const std::uint64_t shift = 8 * (at % 8);
  const std::uint64_t low = random_word(sequence.seed, at / 8);
  if (shift == 0) return low;
  return (low >> shift) | (random_word(sequence.seed, at / 8 + 1) << (64 - shift));
}

DUET_HOST_DEVICE inline unsigned char byte_at(const ByteSequence& sequence, std::uint64_t i) {
  if (sequence.kind == FillKind::constant) return static_cast<unsigned char>(sequence.seed);
  const std::uint64_t at = sequence.offset + i;
  return sequence.kind == FillKind::unit ? unit_byte(sequence.seed, at)
                                         : pattern_byte(sequence.seed, at);
}

}  // namespace duet::gpu
