#include "device/contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/random.h"

namespace duet {
namespace {

Fill pattern(std::uint64_t seed, std::uint64_t offset) {
  Fill fill;
  fill.seed = seed;
  fill.offset = offset;
  return fill;
}

TEST(Contents, OddSizesAndOffsets) {
  for (std::size_t bytes = 0; bytes < 40; ++bytes) {
    std::vector<std::byte> memory(bytes + 1, std::byte{0x5A});
    write_fill(pattern(3, bytes), memory.data(), 0, bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(memory[i], static_cast<std::byte>(pattern_byte(3, bytes + i)));
    }
    EXPECT_EQ(memory[bytes], std::byte{0x5A});
    EXPECT_EQ(compare_fill(pattern(3, bytes), memory.data(), 0, bytes).count, 0u);
  }
}

TEST(Contents, ConstantIsTheLowByteOfTheSeed) {
  Fill fill = pattern(0x1234, 3);
  fill.kind = FillKind::constant;
  std::vector<std::byte> memory(21);
  write_fill(fill, memory.data(), 0, memory.size());
  EXPECT_EQ(memory, std::vector<std::byte>(21, std::byte{0x34}));
  EXPECT_EQ(compare_fill(fill, memory.data(), 0, memory.size()).count, 0u);
}

TEST(Contents, CheckCountsWhatDiffers) {
  std::vector<std::byte> memory(1001);
  const Fill fill = pattern(9, 1);
  write_fill(fill, memory.data(), 0, memory.size());
  for (const std::size_t at : {11u, 12u, 500u, 1000u}) memory[at] ^= std::byte{1};
  const Difference difference = compare_fill(fill, memory.data(), 0, memory.size());
  EXPECT_EQ(difference.count, 4u);
  EXPECT_EQ(difference.first_offset, 11u);
}

TEST(Contents, NormalFillsWholeElements) {
  Fill fill = pattern(1, 0);
  fill.kind = FillKind::normal;
  fill.dtype = DType::bf16;
  std::vector<std::byte> memory(7, std::byte{0x5A});
  write_fill(fill, memory.data(), 0, memory.size());
  std::uint16_t expected = 0;
  store(DType::bf16, &expected, random_normal(1, 2));
  EXPECT_EQ(std::memcmp(&expected, memory.data() + 4, 2), 0);
  EXPECT_EQ(memory[6], std::byte{0x5A});
}

TEST(Contents, NormalFp8HasNoNegativeZero) {
  Fill fill = pattern(1, 0);
  fill.kind = FillKind::normal;
  fill.dtype = DType::fp8_e4m3;
  std::vector<std::byte> memory(20'000);
  write_fill(fill, memory.data(), 0, memory.size());
  EXPECT_GT(std::count(memory.begin(), memory.end(), std::byte{0}), 0);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{0x80}), 0);
}

}  // namespace
}  // namespace duet
