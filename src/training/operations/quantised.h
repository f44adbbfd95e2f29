// Tensors in fp8 with one scale each, and what GEMMs take of them.
#pragma once

#include "core/random.h"
#include "training/operations/tensor.h"

namespace duet {

// What a GEMM multiplies: an element is its value times the scale.
struct ScaledTensor {
  Tensor values;  // fp8_e4m3, or fp8_e5m2
  Tensor scale;   // (1, 1), fp32
};

// A tensor (rows, columns) in fp8. Hopper's GEMMs take both operands row by row along what is
// summed, so that each of a linear's three products takes another form.
struct Quantised {
  Tensor values;      // (rows, columns), fp8_e4m3 or fp8_e5m2; without elements: not wanted
  Tensor transposed;  // (columns, rows), alike
  Tensor scale;       // (1, 1), fp32: an element is its value times the scale

  ScaledTensor by_rows() const { return {values, scale}; }
  ScaledTensor by_columns() const { return {transposed, scale}; }
  // Whether the forms that are wanted, at least one, have the sizes of x, and the scale and the
  // magnitude one element each.
  bool fits(const Tensor& x, const Tensor& magnitude) const;
  // Of the forms that are wanted.
  DType dtype() const { return values.count() > 0 ? values.dtype : transposed.dtype; }
};

inline bool is_fp8(DType dtype) { return dtype == DType::fp8_e4m3 || dtype == DType::fp8_e5m2; }

// A magnitude below this counts as 0: its scale is 1, so that neither it nor its inverse leaves
// fp32.
inline constexpr float kLeastMagnitude = 0x1p-100f;
// OCP 8-bit Floating Point Specification, 2023.
inline constexpr float kLargestE4M3 = 448, kLargestE5M2 = 57344;
inline float largest_of(DType fp8) { return fp8 == DType::fp8_e5m2 ? kLargestE5M2 : kLargestE4M3; }

struct Quantisation {
  float scale, factor;  // of the tensor, and of what is rounded to fp8
};
DUET_HOST_DEVICE inline Quantisation quantisation(float magnitude, float largest) {
  if (magnitude < kLeastMagnitude) return {1, 1};
  return {magnitude / largest, largest / magnitude};
}

// How fp8 products are summed. fast: in fewer bits than fp32 has, where a device is faster so
// (Hopper's tensor cores).
enum class Sums { fast, precise };

}  // namespace duet
