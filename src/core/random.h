// Counter-based random numbers: element i of a sequence depends on (seed, i) alone, so that any
// device produces the same bytes in any order. Compiled for host and GPU code alike.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace duet {

// Element `index` of the sequence `seed`, 64 uniform bits: the finaliser of SplitMix64 (Steele,
// Lea, Flood: Fast splittable pseudorandom number generators, 2014) over a Weyl sequence.
DUET_HOST_DEVICE inline std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xD1342543DE82EF95ull + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// The byte at position `offset` of the pattern `seed`: byte (offset % 8), little endian, of word
// offset / 8.
DUET_HOST_DEVICE inline unsigned char pattern_byte(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<unsigned char>(random_word(seed, offset / 8) >> (8 * (offset % 8)));
}

// The bits of an fp32 value in [1, 2), one per 23 bits of a word.
DUET_HOST_DEVICE inline std::uint32_t random_unit_bits(std::uint64_t seed, std::uint64_t index) {
  return 0x3F800000u | static_cast<std::uint32_t>(random_word(seed, index) >> 41);
}

// A standard normal value by the Box-Muller transform, one per word.
DUET_HOST_DEVICE inline float random_normal(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t word = random_word(seed, index);
  const float u = (static_cast<float>(word >> 40) + 1.0f) * (1.0f / 16777216.0f);  // (0, 1]
  const float angle = static_cast<float>((word >> 8) & 0xFFFFFF) * (6.2831853f / 16777216.0f);
  return sqrtf(-2.0f * logf(u)) * cosf(angle);
}

}  // namespace duet
