// fp32 products on a CPU by a library's sgemm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gemm/engine.h"

namespace duet {

// C (m, n) = A x B + beta C, row-major. Rows of a matrix as it is stored begin a_step, b_step and
// c_step elements apart.
struct SgemmCall {
  bool a_transposed = false, b_transposed = false;
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_step = 0;
  const float* b = nullptr;
  std::int64_t b_step = 0;
  float beta = 0;
  float* c = nullptr;
  std::int64_t c_step = 0;
};

// Multiplies with as many threads as OpenMP would use for the calling one. Returns the library's
// status: 0 is success.
using Sgemm = int (*)(const SgemmCall& call);

// The rows and columns of the tiles into which a reproducible product is cut. They depend on the
// problem alone, and tiles are whole sums over K.
struct ProductTile {
  std::int64_t rows = 0, columns = 0;
};
ProductTile product_tile(const GemmProblem& problem);

// A plan of an fp32 problem without epilogue for a device of `threads` cores. `library` names the
// call in errors ("dnnl_sgemm") and `algorithm` in journals ("sgemm").
//
// If `tuning` asks for a reproducible product, each thread multiplies whole tiles by itself: a
// library that divides one product over threads chooses its kernels and sums by their number.
struct SgemmLibrary {
  Sgemm multiply = nullptr;
  std::string call, algorithm;
  void (*use_threads)(int threads) = nullptr;  // of a library that has a number of its own
};
std::unique_ptr<GemmPlan> plan_sgemm(const SgemmLibrary& library, int threads,
                                     const GemmProblem& problem, const Tuning& tuning);

}  // namespace duet
