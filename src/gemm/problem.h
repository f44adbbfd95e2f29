// One matrix multiplication: C (M, N) = A x B, all row-major.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "gemm/epilogue.h"

namespace duet {

// How A and B are stored; t: transposed.
enum class Layout {
  nn,  // A (M, K), B (K, N): torch.matmul, and a linear's gradient by its input
  nt,  // A (M, K), B (N, K): F.linear
  tn,  // A (K, M), B (K, N): a linear's gradient by its weight
};
std::string_view name(Layout layout);
Layout parse_layout(std::string_view text);  // throws UsageError

// Of matrices that Device::allocate() made.
inline constexpr int kMatrixAlignment = 256;

struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::bf16;   // of A and B
  DType output = DType::bf16;  // of C; accumulation is fp32, int32 for int8
  Layout layout = Layout::nn;
  bool accumulate = false;             // C += A x B, as gradients are summed; otherwise C = A x B
  Epilogue epilogue = Epilogue::none;  // another one only where it does not accumulate
  // Of fp8: A and B are multiplied by factors in device memory (GemmBuffers).
  bool scaled = false;
  bool a_is_e5m2 = false;            // of fp8: A is E5M2, as gradients may be; B is E4M3
  bool fast_sums = false;            // of fp8: partial sums may have fewer bits than fp32
  int alignment = kMatrixAlignment;  // bytes, of the addresses of all matrices: a power of two
  std::int64_t a_columns = 0;  // of layout tn, where A is M columns of a matrix of more: so many
};

// Elements from one row of A, as it is stored, to the next.
std::int64_t row_step_of_a(const GemmProblem& problem);

// The usual output type for an input type: fp32 for tf32, bf16 for fp8, int32 for int8, otherwise
// the input type.
DType default_output(DType dtype);

double flop(const GemmProblem& problem);  // 2 M N K
// A and B read once, C written once, and read if it accumulates; the epilogue's aux once.
double bytes(const GemmProblem& problem);
// "8192x8192x8192 bf16 nn", with " accumulated" or the epilogue.
std::string name(const GemmProblem& problem);

}  // namespace duet
