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

TEST(Sequence, UnitsAreFp32InOneToTwo) {
  Fill fill = pattern(5, 12);
  fill.kind = FillKind::unit;
  const ByteSequence sequence = bytes_of(fill);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::uint64_t at = 12 + i;
    const std::uint32_t bits = random_unit_bits(5, at / 4);
    EXPECT_GE(bits, 0x3F800000u);
    EXPECT_LT(bits, 0x40000000u);
    EXPECT_EQ(byte_at(sequence, i), (bits >> (8 * (at % 4))) & 0xFF);
    EXPECT_EQ(word_at(sequence, i) & 0xFF, byte_at(sequence, i));
    EXPECT_EQ(word_at(sequence, i) >> 56, byte_at(sequence, i + 7));
  }
}

}  // namespace
}  // namespace duet::gpu
