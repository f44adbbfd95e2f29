#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

struct DTypeRow {
  DType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<DTypeRow, 8> kTypes{{
    {DType::fp32, "fp32", 4},
    {DType::tf32, "tf32", 4},
    {DType::fp16, "fp16", 2},
    {DType::bf16, "bf16", 2},
    {DType::fp8_e4m3, "fp8_e4m3", 1},
    {DType::int8, "int8", 1},
    {DType::int32, "int32", 4},
    {DType::fp8_e5m2, "fp8_e5m2", 1},
}};

// As PyTorch and NCCL say them.
constexpr std::array<std::pair<std::string_view, DType>, 6> kOtherNames{{{"float", DType::fp32},
                                                                         {"float32", DType::fp32},
                                                                         {"half", DType::fp16},
                                                                         {"float16", DType::fp16},
                                                                         {"bfloat16", DType::bf16},
                                                                         {"fp8", DType::fp8_e4m3}}};

const DTypeRow& row_of(DType type) { return kTypes[static_cast<std::size_t>(type)]; }

// A binary floating-point format of 8 or 16 bits.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // false: e4m3 keeps only one NaN pattern at the top (OCP FP8, 2023)
};
constexpr Format kHalf{5, 10, true};
constexpr Format kE4M3{4, 3, false};
constexpr Format kE5M2{5, 2, true};
constexpr float kLargestE5M2 = 57344;

constexpr int kFloatBias = 127, kFloatMantissa = 23;

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

constexpr float power_of_two(int exponent) {
  float power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  for (; exponent < 0; ++exponent) power /= 2;
  return power;
}

// By operations on the bits. Kernels have conversions of their own, with
// equal results (device/gpu/element.h).
template <const Format& f>
float decode(std::uint32_t bits) {
  constexpr int kBias = (1 << (f.exponent_bits - 1)) - 1;
  constexpr int kShift = kFloatMantissa - f.mantissa_bits;
  constexpr std::uint32_t kTop = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
  constexpr std::uint32_t kNan = kTop | ((1u << f.mantissa_bits) - 1);
  const std::uint32_t magnitude = bits & kNan;
  const std::uint32_t sign = (bits & ~kNan) << (31 - f.exponent_bits - f.mantissa_bits);
  const std::uint32_t exponents = static_cast<std::uint32_t>(kFloatBias - kBias) << kFloatMantissa;
  const std::uint32_t normal = (magnitude << kShift) + exponents;
  const std::uint32_t small = bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) *
                                      power_of_two(1 - kBias - f.mantissa_bits));
  if (f.has_infinity ? magnitude > kTop : magnitude == kNan) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  std::uint32_t result = magnitude < (1u << f.mantissa_bits) ? small : normal;
  if (f.has_infinity && magnitude == kTop) result = bits_of(std::numeric_limits<float>::infinity());
  return float_of(result | sign);
}

// Rounds half to even, in the default rounding mode. What is too large becomes infinity, or the
// largest number where there is none.
template <const Format& f>
std::uint32_t encode(float value) {
  constexpr int kBias = (1 << (f.exponent_bits - 1)) - 1;
  constexpr int kShift = kFloatMantissa - f.mantissa_bits;
  constexpr std::uint32_t kTop = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
  constexpr std::uint32_t kNan = kTop | ((1u << f.mantissa_bits) - 1);
  constexpr std::uint32_t kLargest = f.has_infinity ? kTop : kNan - 1;
  constexpr std::uint32_t kInfinity = 0x7F800000;
  const std::uint32_t bits = bits_of(value) & 0x7FFFFFFF;
  const std::uint32_t sign = (bits_of(value) >> 31) << (f.exponent_bits + f.mantissa_bits);
  const std::uint32_t exponents = static_cast<std::uint32_t>(kFloatBias - kBias) << kFloatMantissa;
  const std::uint32_t rounding = (1u << (kShift - 1)) - 1 + ((bits >> kShift) & 1);
  const std::uint32_t normal = (bits - exponents + rounding) >> kShift;
  // Numbers below the smallest normal one are multiples of the smallest number: adding 2^23 rounds
  // to them.
  constexpr float kIntegers = 1 << kFloatMantissa;
  const float units = float_of(bits) * power_of_two(kBias - 1 + f.mantissa_bits);
  const std::uint32_t small = bits_of(units + kIntegers) - bits_of(kIntegers);
  const bool is_small = bits < bits_of(power_of_two(1 - kBias));
  return sign | (bits > kInfinity ? kNan : std::min(is_small ? small : normal, kLargest));
}

std::uint16_t to_bf16(float value) {
  std::uint32_t bits = bits_of(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  bits += 0x7FFF + ((bits >> 16) & 1);  // round to nearest, ties to even
  return static_cast<std::uint16_t>(bits >> 16);
}

float from_bf16(std::uint16_t high) { return float_of(static_cast<std::uint32_t>(high) << 16); }

// Rounded half to even, and NaN as -limit.
float to_integer(float value, float limit) {
  constexpr float kIntegers = 1 << kFloatMantissa;  // floats have no fraction from here on
  const float above = value > -limit ? value : -limit;
  const float clamped = above < limit ? above : limit;
  const float magnitude = std::fabs(clamped);
  const float integer = (magnitude + kIntegers) - kIntegers;
  return std::copysign(magnitude < kIntegers ? integer : magnitude, clamped);
}

template <typename Stored>
Stored stored_at(const std::byte* element) {
  Stored value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <DType type>
float load_as(const std::byte* element) {
  if constexpr (type == DType::fp32 || type == DType::tf32) return stored_at<float>(element);
  if constexpr (type == DType::fp16) return decode<kHalf>(stored_at<std::uint16_t>(element));
  if constexpr (type == DType::bf16) return from_bf16(stored_at<std::uint16_t>(element));
  if constexpr (type == DType::fp8_e4m3) return decode<kE4M3>(stored_at<std::uint8_t>(element));
  if constexpr (type == DType::fp8_e5m2) return decode<kE5M2>(stored_at<std::uint8_t>(element));
  if constexpr (type == DType::int8) return static_cast<float>(stored_at<std::int8_t>(element));
  if constexpr (type == DType::int32) return static_cast<float>(stored_at<std::int32_t>(element));
}

// What is stored of the value.
template <DType type>
auto stored_as(float value) {
  if constexpr (type == DType::fp32 || type == DType::tf32) return value;
  if constexpr (type == DType::fp16) return static_cast<std::uint16_t>(encode<kHalf>(value));
  if constexpr (type == DType::bf16) return to_bf16(value);
  if constexpr (type == DType::fp8_e4m3) return static_cast<std::uint8_t>(encode<kE4M3>(value));
  if constexpr (type == DType::fp8_e5m2) {
    const float below = value > kLargestE5M2 ? kLargestE5M2 : value;  // NaN stays one
    const float saturated = below < -kLargestE5M2 ? -kLargestE5M2 : below;
    return static_cast<std::uint8_t>(encode<kE5M2>(saturated));
  }
  if constexpr (type == DType::int8) return static_cast<std::int8_t>(to_integer(value, 127.0f));
  if constexpr (type == DType::int32) {
    return static_cast<std::int32_t>(to_integer(value, 2147483520.0f));
  }
}

// each(type), where type.value is a constant.
template <typename Each>
void with_constant(DType type, const Each& each) {
  switch (type) {
    case DType::fp32:
    case DType::tf32:
      return each(std::integral_constant<DType, DType::fp32>{});
    case DType::fp16:
      return each(std::integral_constant<DType, DType::fp16>{});
    case DType::bf16:
      return each(std::integral_constant<DType, DType::bf16>{});
    case DType::fp8_e4m3:
      return each(std::integral_constant<DType, DType::fp8_e4m3>{});
    case DType::fp8_e5m2:
      return each(std::integral_constant<DType, DType::fp8_e5m2>{});
    case DType::int8:
      return each(std::integral_constant<DType, DType::int8>{});
    case DType::int32:
      return each(std::integral_constant<DType, DType::int32>{});
  }
  throw BadArgument("expected an element type");
}

template <DType from, DType to>
void convert_each(const std::byte* in, std::byte* out, std::size_t count) {
  constexpr std::size_t kSize = sizeof(stored_as<from>(0));
  for (std::size_t i = 0; i < count; ++i) {
    const auto stored = stored_as<to>(load_as<from>(in + i * kSize));
    std::memcpy(out + i * sizeof stored, &stored, sizeof stored);
  }
}

bool is_float(DType type) { return type == DType::fp32 || type == DType::tf32; }

}  // namespace

std::string_view name(DType type) { return row_of(type).name; }
std::size_t size_of(DType type) { return row_of(type).size; }

DType parse_dtype(std::string_view text) {
  for (const auto& [other_name, type] : kOtherNames) {
    if (text == other_name) return type;
  }
  std::vector<std::string_view> known;
  for (const DTypeRow& e : kTypes) {
    // Only the output of int8, and only gradients.
    if (e.type == DType::int32 || e.type == DType::fp8_e5m2) continue;
    if (e.name == text) return e.type;
    known.push_back(e.name);
  }
  throw_unknown_name("unknown dtype", text, known);
}

std::vector<DType> all_dtypes() {
  std::vector<DType> types;
  for (const DTypeRow& e : kTypes) {
    if (e.type != DType::fp8_e5m2) types.push_back(e.type);
  }
  return types;
}

float load(DType type, const void* element) {
  float value = 0;
  with_constant(type, [&](auto constant) {
    value = load_as<constant.value>(static_cast<const std::byte*>(element));
  });
  return value;
}

void store(DType type, void* element, float value) {
  with_constant(type, [&](auto constant) {
    const auto stored = stored_as<constant.value>(value);
    std::memcpy(element, &stored, sizeof stored);
  });
}

void convert(DType from, const void* elements, DType to, void* results, std::size_t count) {
  const auto* in = static_cast<const std::byte*>(elements);
  auto* out = static_cast<std::byte*>(results);
  if (is_float(from) && is_float(to)) {
    std::memmove(out, in, count * sizeof(float));
  } else if (is_float(from)) {
    with_constant(to, [&](auto type) { convert_each<DType::fp32, type.value>(in, out, count); });
  } else if (is_float(to)) {
    with_constant(from, [&](auto type) { convert_each<type.value, DType::fp32>(in, out, count); });
  } else {
    constexpr std::size_t kBlock = 512;  // stays in the first-level cache
    float values[kBlock];
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
      const std::size_t some = std::min(kBlock, count - begin);
      convert(from, in + begin * size_of(from), DType::fp32, values, some);
      convert(DType::fp32, values, to, out + begin * size_of(to), some);
    }
  }
}

}  // namespace duet
