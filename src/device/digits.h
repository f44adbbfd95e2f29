// The elements of a fill of digits, and of the reduction of several such fills, for host and GPU
// code. Digits are small whole numbers, so that sums are exact in any order of addition.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/random.h"
#include "device/stream.h"

namespace duet {

inline constexpr int kUsualDigit = 15;

// The largest digit for a number of ranks. bf16, the least precise type that is reduced, represents
// every whole number up to 256. With more than 17 ranks the digits are therefore smaller than 15.
DUET_HOST_DEVICE inline int largest_digit(int ranks) {
  const int most = ranks > 0 ? 256 / ranks : kUsualDigit;
  return most > kUsualDigit ? kUsualDigit : most < 1 ? 1 : most;
}

// A digit from -largest to largest. A remainder by a constant takes a fraction of the time.
DUET_HOST_DEVICE inline int digit(std::uint64_t seed, std::uint64_t index, int largest) {
  const auto random = static_cast<std::uint32_t>(random_word(seed, index) >> 32);
  if (largest == kUsualDigit) return static_cast<int>(random % (2 * kUsualDigit + 1)) - largest;
  return static_cast<int>(random % static_cast<std::uint32_t>(2 * largest + 1)) - largest;
}

// A fill of digits as a function of the element's index.
struct Digits {
  std::uint64_t seed = 0;
  int ranks = 1;
  Reduction op = Reduction::sum;
  bool reduced = false;
  bool whole = false;  // an average of integers is rounded towards zero
};

inline Digits digits_of(const Fill& fill) {
  const bool whole = fill.dtype == DType::int8 || fill.dtype == DType::int32;
  return {fill.seed, fill.ranks, fill.op, fill.kind == FillKind::digits_reduced, whole};
}

inline bool is_digits(const Fill& fill) {
  return fill.kind == FillKind::digits || fill.kind == FillKind::digits_reduced;
}

// The digits of several ranks, one after the other.
DUET_HOST_DEVICE inline int reduced_digit(Reduction op, int value, int next) {
  const bool sums = op == Reduction::sum || op == Reduction::avg;
  const bool replaces = op == Reduction::max ? next > value : next < value;
  return sums ? value + next : replaces ? next : value;
}

// The element's value from the digits of all ranks.
DUET_HOST_DEVICE inline float value_of_digits(const Digits& d, int value) {
  if (!d.reduced || d.op != Reduction::avg) return static_cast<float>(value);
  if (d.whole) return static_cast<float>(value / d.ranks);
  return static_cast<float>(value) / static_cast<float>(d.ranks);
}

// The element's value before it is rounded to the element type.
DUET_HOST_DEVICE inline float digit_at(const Digits& d, std::uint64_t index) {
  const int largest = largest_digit(d.ranks);
  int value = digit(d.seed, index, largest);
  for (int rank = 1; d.reduced && rank < d.ranks; ++rank) {
    const int next = digit(d.seed + static_cast<std::uint64_t>(rank), index, largest);
    value = reduced_digit(d.op, value, next);
  }
  return value_of_digits(d, value);
}

// The largest permitted difference between an element and digit_at(). It is 0 except for averages
// of floating-point types, which may differ by one unit in the last place: that of the expected
// value if the number of ranks is a power of two, otherwise that of the largest digit, because an
// engine may divide before it adds. `unit` is unit_of() the type.
DUET_HOST_DEVICE inline float digit_tolerance(const Digits& d, float expected, float unit) {
  if (!d.reduced || d.op != Reduction::avg || d.whole) return 0;
  const bool exact_inputs = (d.ranks & (d.ranks - 1)) == 0;
  const float size = exact_inputs ? fabsf(expected) : static_cast<float>(largest_digit(d.ranks));
  return unit * size;
}

// One unit in the last place of numbers from 1 to 2.
inline float unit_of(DType type) {
  if (type == DType::bf16) return 0x1p-7f;
  if (type == DType::fp16) return 0x1p-10f;
  return type == DType::fp8_e4m3 ? 0x1p-3f : 0x1p-23f;
}

}  // namespace duet
