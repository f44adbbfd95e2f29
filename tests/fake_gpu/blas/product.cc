#include "fake_gpu/blas/product.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace fake_gpu {
namespace {

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// FNUZ has the bias 8 where OCP has 7, no negative zero, and finite values where OCP has NaN.
double e4m3_value(std::uint8_t bits, bool fnuz) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7, bias = fnuz ? 8 : 7;
  const bool is_nan = fnuz ? bits == 0x80 : (bits & 0x7F) == 0x7F;
  if (is_nan) return std::numeric_limits<double>::quiet_NaN();
  const double size = exponent == 0 ? std::ldexp(mantissa, -2 - bias)
                                    : std::ldexp(mantissa + 8, exponent - 3 - bias);
  return (bits & 0x80) != 0 ? -size : size;
}

// Rounds to the nearest; ties away from zero are within what a GEMM's check allows.
std::uint16_t half_bits(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size < std::ldexp(1.0, -14)) {
    return static_cast<std::uint16_t>(sign | std::lround(std::ldexp(size, 24)));
  }
  int exponent = 0;
  std::frexp(size, &exponent);
  const long mantissa = std::lround(std::ldexp(size, 11 - exponent));  // 1024 to 2048
  return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + mantissa));
}

void store(const Matrix& to, std::int64_t row, std::int64_t column, double value) {
  std::byte* const at =
      to.data + static_cast<std::size_t>(column * to.leading + row) * size_of(to.type);
  const auto single = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  if (to.type == Element::int32) {
    bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  }
  if (to.type == Element::bf16) bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  if (to.type == Element::fp16) bits = half_bits(value);
  std::memcpy(at, &bits, size_of(to.type));
}

void reach(int device, const Matrix& matrix, const std::string& what) {
  if (matrix.data == nullptr) return;
  require_reach(device, matrix.data,
                static_cast<std::size_t>(matrix.columns * matrix.leading) * size_of(matrix.type),
                what.c_str());
}

// GELU in the tanh form, x s(2u), with s the logistic function.
double logistic_of(double x) {
  return 1 / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
}
double gelu(double x) { return x * logistic_of(x); }
double gelu_slope(double x) {
  const double s = logistic_of(x);
  return s + x * s * (1 - s) * 1.5957691216057308 * (1 + 3 * 0.044715 * x * x);
}

void multiply_one(const Product& p, std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (std::int64_t i = 0; i < p.k; ++i) {
    sum += (p.a_turned ? load(p.a, i, row) : load(p.a, row, i)) *
           (p.b_turned ? load(p.b, column, i) : load(p.b, i, column));
  }
  double value = p.alpha * sum;
  if (p.beta != 0) value += p.beta * load(p.c, row, column);
  if (p.after == After::gelu) {
    store(p.aux, row, column, value);
    value = gelu(value);
  }
  if (p.after == After::gelu_backward) value *= gelu_slope(load(p.aux, row, column));
  store(p.d, row, column, value);
}

}  // namespace

std::size_t size_of(Element type) {
  switch (type) {
    case Element::int8:
    case Element::e4m3:
    case Element::e4m3_fnuz:
      return 1;
    case Element::fp16:
    case Element::bf16:
      return 2;
    case Element::fp32:
    case Element::int32:
      break;
  }
  return 4;
}

double load(const void* data, Element type) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, data, size_of(type));
  float value = 0;
  switch (type) {
    case Element::int8:
      return static_cast<std::int8_t>(bits);
    case Element::int32:
      return static_cast<std::int32_t>(bits);
    case Element::fp16:
      return half_value(static_cast<std::uint16_t>(bits));
    case Element::e4m3:
    case Element::e4m3_fnuz:
      return e4m3_value(static_cast<std::uint8_t>(bits), type == Element::e4m3_fnuz);
    case Element::bf16:
      bits <<= 16;
      break;
    case Element::fp32:
      break;
  }
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double load(const Matrix& from, std::int64_t row, std::int64_t column) {
  return load(
      from.data + static_cast<std::size_t>(column * from.leading + row) * size_of(from.type),
      from.type);
}

hipError_t multiply(const Product& product, const char* library, hipStream_t stream) {
  return launch(stream, [product, name = std::string(library)](int device) {
    Product here = product;
    reach(device, here.a, name + "'s A");
    reach(device, here.b, name + "'s B");
    if (here.beta != 0) reach(device, here.c, name + "'s C");
    reach(device, here.d, name + "'s D");
    reach(device, here.aux, name + "'s aux");
    for (const float* scale : here.scales) {
      if (scale == nullptr) continue;
      require_reach(device, scale, sizeof *scale, (name + "'s scale").c_str());
      here.alpha *= static_cast<double>(*scale);
    }
    for (std::int64_t column = 0; column < here.n; ++column) {
      for (std::int64_t row = 0; row < here.m; ++row) multiply_one(here, row, column);
    }
    memory().write_by(
        device, here.d.data,
        static_cast<std::size_t>(here.d.leading * here.d.columns) * size_of(here.d.type));
  });
}

}  // namespace fake_gpu
