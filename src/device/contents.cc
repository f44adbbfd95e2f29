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

// Elements at a time, which stay in the first-level cache.
constexpr std::size_t kDigitBlock = 512;

// digit_at() of elements [first, first + count), at most kDigitBlock, rank by rank: a loop over
// elements has no dependences between its turns, and is made of vector instructions.
__attribute__((always_inline)) inline void make_digits(const Digits& d, std::uint64_t first,
                                                       std::size_t count, float* values) {
  const int largest = largest_digit(d.ranks), ranks = d.reduced ? d.ranks : 1;
  int digits[kDigitBlock];
  for (std::size_t i = 0; i < count; ++i) digits[i] = digit(d.seed, first + i, largest);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::uint64_t seed = d.seed + static_cast<std::uint64_t>(rank);
    for (std::size_t i = 0; i < count; ++i) {
      digits[i] = reduced_digit(d.op, digits[i], digit(seed, first + i, largest));
    }
  }
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of_digits(d, digits[i]);
}

#ifdef __x86_64__
__attribute__((target("avx512f,avx512dq,avx512vl"))) void make_digits_avx512(const Digits& d,
                                                                             std::uint64_t first,
                                                                             std::size_t count,
                                                                             float* values) {
  make_digits(d, first, count, values);
}

__attribute__((target("avx2"))) void make_digits_avx2(const Digits& d, std::uint64_t first,
                                                      std::size_t count, float* values) {
  make_digits(d, first, count, values);
}
#endif

void digits_at(const Digits& d, std::uint64_t first, std::size_t count, float* values) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return make_digits_avx512(d, first, count, values);
  }
  if (__builtin_cpu_supports("avx2")) return make_digits_avx2(d, first, count, values);
#endif
  make_digits(d, first, count, values);
}

// Calls each(begin, count, values) for blocks of the fill's elements, with their values before they
// are rounded to the element type.
template <typename Each>
void for_blocks(const Fill& fill, std::size_t offset, std::size_t bytes, const Each& each) {
  const Digits digits = digits_of(fill);
  const std::size_t size = size_of(fill.dtype), elements = bytes / size;
  const std::uint64_t first = (fill.offset + offset) / size;
  float values[kDigitBlock];
  for (std::size_t begin = 0; begin < elements; begin += kDigitBlock) {
    const std::size_t count = std::min(kDigitBlock, elements - begin);
    digits_at(digits, first + begin, count, values);
    each(begin, count, values);
  }
}

void write_digits(const Fill& fill, std::byte* data, std::size_t offset, std::size_t bytes) {
  const std::size_t size = size_of(fill.dtype);
  for_blocks(fill, offset, bytes, [&](std::size_t begin, std::size_t count, const float* values) {
    convert(DType::fp32, values, fill.dtype, data + begin * size, count);
  });
}

// Compares elements and not bytes, because averages may differ in the last place.
Difference compare_digits(const Fill& fill, const std::byte* data, std::size_t offset,
                          std::size_t bytes) {
  const Digits digits = digits_of(fill);
  const std::size_t size = size_of(fill.dtype);
  const float unit = unit_of(fill.dtype);
  Difference difference;
  for_blocks(fill, offset, bytes, [&](std::size_t begin, std::size_t count, const float* values) {
    std::byte rounded[kDigitBlock * sizeof(float)];
    float expected[kDigitBlock], found[kDigitBlock];
    convert(DType::fp32, values, fill.dtype, rounded, count);
    convert(fill.dtype, rounded, DType::fp32, expected, count);
    convert(fill.dtype, data + begin * size, DType::fp32, found, count);
    for (std::size_t i = 0; i < count; ++i) {
      // The comparison is false for NaN, which therefore counts as a difference.
      if (std::fabs(found[i] - expected[i]) <= digit_tolerance(digits, expected[i], unit)) continue;
      if (difference.count++ == 0) difference.first_offset = offset + (begin + i) * size;
    }
  });
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
    const Difference found = compare_bytes(data + begin, expected, length);
    if (found.count == 0) continue;
    if (difference.count == 0) difference.first_offset = offset + begin + found.first_offset;
    difference.count += found.count;
  }
  return difference;
}

Difference compare_bytes(const std::byte* data, const std::byte* other, std::size_t bytes) {
  Difference difference;
  if (bytes == 0 || std::memcmp(data, other, bytes) == 0) return difference;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] == other[i]) continue;
    if (difference.count++ == 0) difference.first_offset = i;
  }
  return difference;
}

}  // namespace duet
