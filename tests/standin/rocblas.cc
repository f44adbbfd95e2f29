// A stand-in for rocBLAS: rocblas_gemm_ex by the CPU, in stream order, with the checks that find
// wrong arguments: sides against leading dimensions, types, and memory that the device does not
// reach.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime.h"

namespace {

constexpr int kSuccess = 0, kInvalidHandle = 1, kNotImplemented = 2, kInvalidSize = 4,
              kInvalidValue = 11;
constexpr int kNone = 111, kTranspose = 112;
constexpr int kFp16 = 150, kFp32 = 151, kInt8 = 160, kInt32 = 162, kBf16 = 168;

struct Context {
  hipStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

// A column-major matrix; of the operand that is transposed, as it lies in memory.
struct Matrix {
  std::byte* data = nullptr;
  int type = 0;
  std::int64_t leading = 0;
};

std::size_t size_of(int type) { return type == kInt8 ? 1 : type == kFp16 || type == kBf16 ? 2 : 4; }

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

double load(const Matrix& from, std::int64_t row, std::int64_t column) {
  const std::byte* const at =
      from.data + static_cast<std::size_t>(column * from.leading + row) * size_of(from.type);
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, size_of(from.type));
  float value = 0;
  switch (from.type) {
    case kInt8:
      return static_cast<std::int8_t>(bits);
    case kInt32:
      return static_cast<std::int32_t>(bits);
    case kFp16:
      return half_value(static_cast<std::uint16_t>(bits));
    case kBf16:
      bits <<= 16;
      break;
    default:
      break;
  }
  std::memcpy(&value, &bits, sizeof value);
  return value;
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
  if (to.type == kInt32) bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  if (to.type == kBf16) bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  if (to.type == kFp16) bits = half_bits(value);
  std::memcpy(at, &bits, size_of(to.type));
}

std::int64_t bytes_of(const Matrix& matrix, std::int64_t columns) {
  return columns * matrix.leading * static_cast<std::int64_t>(size_of(matrix.type));
}

bool are_known(int in, int out, int sums) {
  if (in == kInt8) return out == kInt32 && sums == kInt32;
  const bool floats = in == kFp16 || in == kBf16 || in == kFp32;
  return floats && (out == in || out == kFp32) && sums == kFp32;
}

double scalar(const void* data, int type) {
  const Matrix one{static_cast<std::byte*>(const_cast<void*>(data)), type, 1};
  return load(one, 0, 0);
}

}  // namespace

extern "C" {

int rocblas_create_handle(Context** handle) {
  *handle = new Context;
  return kSuccess;
}

int rocblas_destroy_handle(Context* handle) {
  if (handle == nullptr) return kInvalidHandle;
  delete handle;
  return kSuccess;
}

int rocblas_set_stream(Context* handle, hipStream_t stream) {
  handle->stream = stream;
  return kSuccess;
}

int rocblas_set_workspace(Context* handle, void* data, std::size_t bytes) {
  if (!standin::reaches(standin::current_device(), data, bytes)) return kInvalidValue;
  handle->workspace = data;
  handle->workspace_bytes = bytes;
  return kSuccess;
}

const char* rocblas_status_to_string(int status) {
  return status == kInvalidSize      ? "rocblas_status_invalid_size"
         : status == kInvalidValue   ? "rocblas_status_invalid_value"
         : status == kNotImplemented ? "rocblas_status_not_implemented"
                                     : "rocblas_status_invalid_handle";
}

int rocblas_gemm_ex(Context* handle, int a_operation, int b_operation, std::int32_t m,
                    std::int32_t n, std::int32_t k, const void* alpha, const void* a, int a_type,
                    std::int32_t a_leading, const void* b, int b_type, std::int32_t b_leading,
                    const void* beta, const void* c, int c_type, std::int32_t c_leading, void* d,
                    int d_type, std::int32_t d_leading, int sums, int algorithm, std::int32_t,
                    std::uint32_t flags) {
  for (const int operation : {a_operation, b_operation}) {
    if (operation != kNone && operation != kTranspose) return kInvalidValue;
  }
  const bool a_turned = a_operation == kTranspose, b_turned = b_operation == kTranspose;
  if (algorithm != 0 || flags != 0 || c != d || c_type != d_type) return kInvalidValue;
  if (a_type != b_type || !are_known(a_type, d_type, sums)) return kNotImplemented;
  if (m < 1 || n < 1 || k < 1 || a_leading < (a_turned ? k : m) || b_leading < (b_turned ? n : k) ||
      c_leading < m || d_leading != c_leading) {
    return kInvalidSize;
  }
  const auto bytes = [](const void* data) {
    return static_cast<std::byte*>(const_cast<void*>(data));
  };
  const Matrix left{bytes(a), a_type, a_leading}, right{bytes(b), b_type, b_leading},
      result{bytes(d), d_type, d_leading};
  const double scale = scalar(alpha, sums), kept = scalar(beta, sums);
  const hipError_t launched = standin::launch(handle->stream, [=](int device) {
    const auto reach = [device](const Matrix& matrix, std::int64_t columns, const char* what) {
      standin::require_reach(device, matrix.data,
                             static_cast<std::size_t>(bytes_of(matrix, columns)), what);
    };
    reach(left, a_turned ? m : k, "rocBLAS's A");
    reach(right, b_turned ? k : n, "rocBLAS's B");
    reach(result, n, "rocBLAS's D");
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          sum += (a_turned ? load(left, i, row) : load(left, row, i)) *
                 (b_turned ? load(right, column, i) : load(right, i, column));
        }
        const double before = kept == 0 ? 0 : kept * load(result, row, column);
        store(result, row, column, scale * sum + before);
      }
    }
  });
  return launched == hipSuccess ? kSuccess : kInvalidHandle;
}

}  // extern "C"
