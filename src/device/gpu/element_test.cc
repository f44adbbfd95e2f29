#include "device/gpu/element.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/dtype.h"

namespace duet::gpu {
namespace {

// All exponents, with mantissas around every rounding boundary of the small formats.
std::vector<float> values() {
  std::vector<float> list;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (std::uint32_t high = 0; high < 4096; ++high) {
      for (const std::uint32_t low : {0u, 1u, 0x7FFu}) {
        const std::uint32_t bits = exponent << 23 | high << 11 | low;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        if (std::isnan(value)) continue;  // the payload of a NaN is not specified
        list.push_back(value);
        list.push_back(-value);
      }
    }
  }
  return list;
}

template <typename Bits>
Bits stored(DType type, float value) {
  Bits bits;
  store(type, &bits, value);
  return bits;
}

TEST(Element, RoundsAsStoreDoes) {
  for (const float value : values()) {
    ASSERT_EQ(to_bf16(value), stored<std::uint16_t>(DType::bf16, value)) << value;
    ASSERT_EQ(to_fp16(value), stored<std::uint16_t>(DType::fp16, value)) << value;
    ASSERT_EQ(to_fp8_e4m3(value), stored<std::uint8_t>(DType::fp8_e4m3, value)) << value;
    ASSERT_EQ(to_fp8_e5m2(value), stored<std::uint8_t>(DType::fp8_e5m2, value)) << value;
    ASSERT_EQ(to_integer(value, 127.0f), stored<std::int8_t>(DType::int8, value)) << value;
    ASSERT_EQ(to_integer(value, 2147483520.0f), stored<std::int32_t>(DType::int32, value)) << value;
  }
}

TEST(Element, ReadsAsLoadDoes) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float half = load(DType::fp16, &bits);
    ASSERT_EQ(std::isnan(from_fp16(bits)), std::isnan(half)) << i;
    if (!std::isnan(half)) {
      ASSERT_EQ(from_fp16(bits), half) << i;
    }
    const float brain = load(DType::bf16, &bits);
    ASSERT_EQ(float_bits(from_bf16(bits)), float_bits(brain)) << i;
    if (i > 255) continue;
    const auto byte = static_cast<std::uint8_t>(i);
    const float quarter = load(DType::fp8_e4m3, &byte);
    ASSERT_EQ(std::isnan(from_fp8_e4m3(byte)), std::isnan(quarter)) << i;
    if (!std::isnan(quarter)) {
      ASSERT_EQ(from_fp8_e4m3(byte), quarter) << i;
    }
  }
}

TEST(Element, NotANumberStaysOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const DType type : {DType::bf16, DType::fp16}) {
    const std::uint16_t bits = type == DType::bf16 ? to_bf16(nan) : to_fp16(nan);
    EXPECT_TRUE(std::isnan(load(type, &bits))) << name(type);
  }
  const std::uint8_t bits = to_fp8_e4m3(nan);
  EXPECT_TRUE(std::isnan(load(DType::fp8_e4m3, &bits)));
}

}  // namespace
}  // namespace duet::gpu
