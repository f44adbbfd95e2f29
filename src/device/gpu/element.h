// Conversion between float and an element's bits, for host and GPU code. The results are those of
// store() and load() of core/dtype.h. The code uses only operations that every compiler has for
// every device.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/random.h"

namespace duet::gpu {

DUET_HOST_DEVICE inline std::uint32_t float_bits(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// All conversions round to nearest even: they add half of the last place less one, plus the parity
// of the last place. For fp16 devices have instructions, which reductions need for their speed.
DUET_HOST_DEVICE inline std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = float_bits(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

DUET_HOST_DEVICE inline std::uint16_t to_fp16(float value) {
#ifdef __CUDA_ARCH__
  std::uint16_t rounded;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
  return rounded;
#elif defined(__HIP_DEVICE_COMPILE__)
  const _Float16 rounded = static_cast<_Float16>(value);
  std::uint16_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  return bits;
#else
  const std::uint32_t bits = float_bits(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t size = bits & 0x7FFFFFFF;
  std::uint32_t result = 0;
  if (size > 0x7F800000) {
    result = 0x7FFF;
  } else if (size >= 0x47800000) {  // at least 65536
    result = 0x7C00;
  } else if (size < 0x38800000) {  // under 2^-14: subnormal, in units of 2^-24
    result = static_cast<std::uint32_t>(rintf(fabsf(value) * 16777216.0f));
  } else {  // the exponent's bias goes from 127 to 15
    result = (size + 0xFFF + ((size >> 13) & 1) - (112u << 23)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
#endif
}

DUET_HOST_DEVICE inline std::uint8_t to_fp8_e4m3(float value) {
  const std::uint32_t bits = float_bits(value);
  const std::uint32_t sign = (bits >> 24) & 0x80;
  const std::uint32_t size = bits & 0x7FFFFFFF;
  std::uint32_t result = 0;
  if (size > 0x7F800000) {
    result = 0x7F;
  } else if (size >= 0x43E00000) {  // at least 448, the largest finite value
    result = 0x7E;
  } else if (size < 0x3C800000) {  // under 2^-6: subnormal, in units of 2^-9
    result = static_cast<std::uint32_t>(rintf(fabsf(value) * 512.0f));
  } else {  // the exponent's bias goes from 127 to 7
    result = (size + 0x7FFFF + ((size >> 20) & 1) - (120u << 23)) >> 20;
  }
  return static_cast<std::uint8_t>(sign | result);
}

DUET_HOST_DEVICE inline std::uint8_t to_fp8_e5m2(float value) {
  const std::uint32_t bits = float_bits(value);
  const std::uint32_t sign = (bits >> 24) & 0x80;
  const std::uint32_t size = bits & 0x7FFFFFFF;
  std::uint32_t result = 0;
  if (size > 0x7F800000) {
    result = 0x7F;
  } else if (size >= 0x47600000) {  // at least 57344, the largest finite value
    result = 0x7B;
  } else if (size < 0x38800000) {  // under 2^-14: subnormal, in units of 2^-16
    result = static_cast<std::uint32_t>(rintf(fabsf(value) * 65536.0f));
  } else {  // the exponent's bias goes from 127 to 15
    result = (size + 0xFFFFF + ((size >> 21) & 1) - (112u << 23)) >> 21;
  }
  return static_cast<std::uint8_t>(sign | result);
}

DUET_HOST_DEVICE inline float from_bits(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

DUET_HOST_DEVICE inline float from_bf16(std::uint16_t bits) {
  return from_bits(static_cast<std::uint32_t>(bits) << 16);
}

DUET_HOST_DEVICE inline float from_fp16(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#elif defined(__HIP_DEVICE_COMPILE__)
  _Float16 value;
  memcpy(&value, &bits, sizeof value);
  return static_cast<float>(value);
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t size = bits & 0x7FFF;
  if (size >= 0x7C00) return from_bits(sign | 0x7F800000 | (size & 0x3FF) << 13);
  if (size < 0x400) {  // subnormal, in units of 2^-24
    return from_bits(sign | float_bits(static_cast<float>(size) * (1.0f / 16777216.0f)));
  }
  return from_bits(sign | ((size << 13) + (112u << 23)));
#endif
}

DUET_HOST_DEVICE inline float from_fp8_e4m3(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80) << 24;
  const std::uint32_t size = bits & 0x7F;
  if (size == 0x7F) return from_bits(sign | 0x7FC00000);
  if (size < 8) {  // subnormal, in units of 2^-9
    return from_bits(sign | float_bits(static_cast<float>(size) * (1.0f / 512.0f)));
  }
  return from_bits(sign | ((size << 20) + (120u << 23)));
}

// Rounds and clamps to [-limit, limit]. The limit is 127 for int8, and the largest float below 2^31
// for int32.
DUET_HOST_DEVICE inline std::int32_t to_integer(float value, float limit) {
  return static_cast<std::int32_t>(fminf(fmaxf(rintf(value), -limit), limit));
}

}  // namespace duet::gpu
