#include "device/contents.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/random.h"
#include "device/digits.h"

namespace duet {
namespace {

void write_pattern(std::uint64_t seed, std::byte* data, std::uint64_t position, std::size_t bytes) {
  std::size_t i = 0;
  for (; i < bytes && (position + i) % 8 != 0; ++i) {
    data[i] = static_cast<std::byte>(pattern_byte(seed, position + i));
  }
  for (; i + 8 <= bytes; i += 8) {
    const std::uint64_t word = random_word(seed, (position + i) / 8);
    std::memcpy(data + i, &word, 8);
  }
  for (; i < bytes; ++i) data[i] = static_cast<std::byte>(pattern_byte(seed, position + i));
}

template <typename Convert>
void write_elements(std::byte* data, std::size_t size, std::size_t count, Convert convert) {
  for (std::size_t i = 0; i < count; ++i) convert(i, data + i * size);
}

constexpr std::byte kNegativeZero{0x80};  // of fp8

void write_normal(const Fill& fill, std::byte* data, std::size_t offset, std::size_t bytes) {
  const std::size_t size = size_of(fill.dtype);
  const bool integer = fill.dtype == DType::int8 || fill.dtype == DType::int32;
  const std::size_t first = offset / size;
  const float scale = integer ? 16.0f : 1.0f;
  write_elements(data, size, bytes / size, [&](std::size_t i, std::byte* element) {
    store(fill.dtype, element, scale * random_normal(fill.seed, first + i));
    if (fill.dtype == DType::fp8_e4m3 && *element == kNegativeZero) *element = std::byte{0};
  });
}

void write_units(const Fill& fill, std::byte* data, std::size_t offset, std::size_t bytes) {
  constexpr std::size_t kSize = sizeof(std::uint32_t);
  const std::uint64_t first = (fill.offset + offset) / kSize;
  write_elements(data, kSize, bytes / kSize, [&](std::size_t i, std::byte* element) {
    const std::uint32_t bits = random_unit_bits(fill.seed, first + i);
    std::memcpy(element, &bits, sizeof bits);
  });
}

void write_digits(const Fill& fill, std::byte* data, std::size_t offset, std::size_t bytes) {
  const Digits digits = digits_of(fill);
  const std::size_t size = size_of(fill.dtype);
  const std::uint64_t first = (fill.offset + offset) / size;
  write_elements(data, size, bytes / size, [&](std::size_t i, std::byte* element) {
    store(fill.dtype, element, digit_at(digits, first + i));
  });
}

// Compares elements and not bytes, because averages may differ in the last place.
Difference compare_digits(const Fill& fill, const std::byte* data, std::size_t offset,
                          std::size_t bytes) {
  const Digits digits = digits_of(fill);
  const std::size_t size = size_of(fill.dtype);
  const std::uint64_t first = (fill.offset + offset) / size;
  const float unit = unit_of(fill.dtype);
  Difference difference;
  for (std::size_t i = 0; i < bytes / size; ++i) {
    std::byte rounded[8];
    store(fill.dtype, rounded, digit_at(digits, first + i));
    const float expected = load(fill.dtype, rounded);
    const float found = load(fill.dtype, data + i * size);
    // The comparison is false for NaN, which therefore counts as a difference.
    if (std::fabs(found - expected) <= digit_tolerance(digits, expected, unit)) continue;
    if (difference.count++ == 0) difference.first_offset = offset + i * size;
  }
  return difference;
}

}  // namespace

void write_fill(const Fill& fill, std::byte* data, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  switch (fill.kind) {
    case FillKind::pattern:
      return write_pattern(fill.seed, data, fill.offset + offset, bytes);
    case FillKind::constant:
      std::memset(data, static_cast<int>(fill.seed & 0xFF), bytes);
      return;
    case FillKind::normal:
      return write_normal(fill, data, offset, bytes);
    case FillKind::unit:
      return write_units(fill, data, offset, bytes);
    case FillKind::digits:
    case FillKind::digits_reduced:
      return write_digits(fill, data, offset, bytes);
  }
}

Difference compare_fill(const Fill& fill, const std::byte* data, std::size_t offset,
                        std::size_t bytes) {
  if (is_digits(fill)) return compare_digits(fill, data, offset, bytes);
  Difference difference;
  std::byte expected[4096];
  for (std::size_t begin = 0; begin < bytes; begin += sizeof expected) {
    const std::size_t length = std::min(sizeof expected, bytes - begin);
    write_fill(fill, expected, offset + begin, length);
    if (std::memcmp(expected, data + begin, length) == 0) continue;
    for (std::size_t i = 0; i < length; ++i) {
      if (expected[i] == data[begin + i]) continue;
      if (difference.count++ == 0) difference.first_offset = offset + begin + i;
    }
  }
  return difference;
}

}  // namespace duet
