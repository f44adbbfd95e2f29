// word_at() agrees with byte_at() at every offset.
#include "device/gpu/sequence.h"

#include <gtest/gtest.h>

namespace duet::gpu {
namespace {

Fill pattern(std::uint64_t seed, std::uint64_t offset) {
  Fill fill;
  fill.seed = seed;
  fill.offset = offset;
  return fill;
}

TEST(Sequence, WordsAreTheBytesOfThePattern) {
  for (std::uint64_t offset = 0; offset < 17; ++offset) {
    const ByteSequence sequence = bytes_of(pattern(5, offset));
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::uint64_t word = word_at(sequence, i);
      for (std::uint64_t k = 0; k < 8; ++k) {
        EXPECT_EQ((word >> (8 * k)) & 0xFF, pattern_byte(5, offset + i + k));
      }
    }
  }
}

}  // namespace
}  // namespace duet::gpu
