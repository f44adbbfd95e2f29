#include "core/dtype.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
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

float decode(std::uint32_t bits, const Format& f) {
  const std::uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  const std::uint32_t exponent = (bits >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1);
  const float sign = (bits >> (f.mantissa_bits + f.exponent_bits)) != 0 ? -1.0f : 1.0f;
  const std::uint32_t top = (1u << f.exponent_bits) - 1;
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  if (exponent == top) {
    if (f.has_infinity) {
      return mantissa == 0 ? sign * std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    }
    if (mantissa == (1u << f.mantissa_bits) - 1) return std::numeric_limits<float>::quiet_NaN();
  }
  const int scale = exponent == 0 ? 1 - bias : static_cast<int>(exponent) - bias;
  const float significand =
      static_cast<float>(mantissa) / static_cast<float>(1u << f.mantissa_bits) +
      (exponent == 0 ? 0.0f : 1.0f);
  return sign * std::ldexp(significand, scale);
}

std::uint32_t encode(float value, const Format& f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const std::uint32_t sign = (std::signbit(value) ? 1u : 0u) << (f.mantissa_bits + f.exponent_bits);
  const std::uint32_t top = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
  const std::uint32_t infinity = f.has_infinity ? top : top | ((1u << f.mantissa_bits) - 2);
  if (std::isnan(value)) return sign | top | ((1u << f.mantissa_bits) - 1);
  const float magnitude = std::fabs(value);
  if (magnitude == 0.0f) return sign;
  if (std::isinf(value)) return sign | infinity;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // In units of the last place of that exponent; nearbyint rounds half to even.
  std::uint64_t units = static_cast<std::uint64_t>(
      std::nearbyint(std::ldexp(static_cast<double>(magnitude), f.mantissa_bits - exponent)));
  if (units >= (2ull << f.mantissa_bits)) {
    units >>= 1;
    ++exponent;
  }
  if (exponent > bias + (f.has_infinity ? 0 : 1)) return sign | infinity;
  const bool normal = units >= (1ull << f.mantissa_bits);
  const std::uint32_t field = normal ? static_cast<std::uint32_t>(exponent + bias) : 0;
  const std::uint32_t mantissa = static_cast<std::uint32_t>(units) & ((1u << f.mantissa_bits) - 1);
  return std::min((field << f.mantissa_bits) | mantissa, infinity) | sign;
}

std::uint16_t to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  bits += 0x7FFF + ((bits >> 16) & 1);  // round to nearest, ties to even
  return static_cast<std::uint16_t>(bits >> 16);
}

float from_bf16(std::uint16_t high) {
  const std::uint32_t bits = static_cast<std::uint32_t>(high) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename From, typename To>
void convert_each(const std::byte* from, std::byte* to, std::size_t count,
                  To (*convert_one)(From)) {
  for (std::size_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, from + i * sizeof element, sizeof element);
    const To result = convert_one(element);
    std::memcpy(to + i * sizeof result, &result, sizeof result);
  }
}

float to_integer(float value, float limit) {
  return std::fmin(std::fmax(std::nearbyint(value), -limit), limit);
}

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
  switch (type) {
    case DType::fp32:
    case DType::tf32: {
      float value;
      std::memcpy(&value, element, sizeof value);
      return value;
    }
    case DType::fp16: {
      std::uint16_t bits;
      std::memcpy(&bits, element, sizeof bits);
      return decode(bits, kHalf);
    }
    case DType::bf16: {
      std::uint16_t high;
      std::memcpy(&high, element, sizeof high);
      return from_bf16(high);
    }
    case DType::fp8_e4m3:
      return decode(*static_cast<const std::uint8_t*>(element), kE4M3);
    case DType::fp8_e5m2:
      return decode(*static_cast<const std::uint8_t*>(element), kE5M2);
    case DType::int8:
      return static_cast<float>(*static_cast<const std::int8_t*>(element));
    case DType::int32: {
      std::int32_t value;
      std::memcpy(&value, element, sizeof value);
      return static_cast<float>(value);
    }
  }
  throw BadArgument("load: not an element type");
}

void store(DType type, void* element, float value) {
  switch (type) {
    case DType::fp32:
    case DType::tf32:
      std::memcpy(element, &value, sizeof value);
      return;
    case DType::fp16: {
      const std::uint16_t bits = static_cast<std::uint16_t>(encode(value, kHalf));
      std::memcpy(element, &bits, sizeof bits);
      return;
    }
    case DType::bf16: {
      const std::uint16_t bits = to_bf16(value);
      std::memcpy(element, &bits, sizeof bits);
      return;
    }
    case DType::fp8_e4m3:
      *static_cast<std::uint8_t*>(element) = static_cast<std::uint8_t>(encode(value, kE4M3));
      return;
    case DType::fp8_e5m2: {
      const float saturated =
          std::isnan(value) ? value : std::fmin(std::fmax(value, -kLargestE5M2), kLargestE5M2);
      *static_cast<std::uint8_t*>(element) = static_cast<std::uint8_t>(encode(saturated, kE5M2));
      return;
    }
    case DType::int8:
      *static_cast<std::int8_t*>(element) = static_cast<std::int8_t>(to_integer(value, 127.0f));
      return;
    case DType::int32: {
      const std::int32_t bits = static_cast<std::int32_t>(to_integer(value, 2147483520.0f));
      std::memcpy(element, &bits, sizeof bits);
      return;
    }
  }
}

void convert(DType from, const void* elements, DType to, void* results, std::size_t count) {
  const auto* in = static_cast<const std::byte*>(elements);
  auto* out = static_cast<std::byte*>(results);
  // Those of models and of reductions, ten times as fast as calls of load() and store().
  if (from == DType::fp32 && to == DType::fp32) {
    std::memcpy(out, in, count * sizeof(float));
    return;
  }
  if (from == DType::bf16 && to == DType::fp32) return convert_each(in, out, count, &from_bf16);
  if (from == DType::fp32 && to == DType::bf16) return convert_each(in, out, count, &to_bf16);
  for (std::size_t i = 0; i < count; ++i) {
    store(to, out + i * size_of(to), load(from, in + i * size_of(from)));
  }
}

}  // namespace duet
