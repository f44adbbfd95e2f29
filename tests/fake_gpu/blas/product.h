// Matrix products by the CPU, for the stand-ins of rocBLAS and hipBLASLt. The conversions are their
// own, so that a mistake in Duet's is found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fake_gpu/hip/runtime.h"

namespace fake_gpu {

// e4m3_fnuz is the fp8 of gfx942.
enum class Element { fp16, bf16, fp32, int8, int32, e4m3, e4m3_fnuz };
std::size_t size_of(Element type);

// A column-major matrix as it lies in memory; `columns` are those in memory.
struct Matrix {
  std::byte* data = nullptr;
  Element type = Element::fp32;
  std::int64_t leading = 0, columns = 0;
};

double load(const Matrix& from, std::int64_t row, std::int64_t column);
double load(const void* data, Element type);

// What is done to the product beside alpha and beta: of GELU the product itself is kept in `aux`,
// of its gradient the product is multiplied by GELU's slope there.
enum class After { nothing, gelu, gelu_backward };

// D (m, n) = alpha op(A) op(B) + beta C.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_turned = false, b_turned = false;
  Matrix a, b, c, d;
  double alpha = 1, beta = 0;
  const float* scales[2] = {};  // factors in device memory, if they are there
  After after = After::nothing;
  Matrix aux;
};

// Enqueues it on a stream of the current device. `library` is for the message with which the
// process ends where the device does not reach a matrix.
hipError_t multiply(const Product& product, const char* library, hipStream_t stream);

}  // namespace fake_gpu
