// Copies operands into the order in which the micro kernel reads them: slivers of `width` lines (a
// row of A or a column of B), word by word of k, padded with zeros.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace duet {

// An operand as `lines` vectors of length k.
struct PackSource {
  const void* data = nullptr;
  DType dtype = DType::fp32;
  std::int64_t lines = 0;
  std::int64_t k = 0;
  bool along_k = true;  // memory runs along k (A, and B in layout nt) or along lines (B in nn)
};

// The words of k from `word` to word + words, of the `width` (14 or 32) lines from `line`.
struct PackPart {
  std::int64_t line = 0;
  int width = 0;
  std::int64_t word = 0;
  std::int64_t words = 0;
};

// Elements of k in one 32-bit word.
std::int64_t word_elements(DType dtype);

// Needs AVX-512F. `out` holds words x width words.
void pack(const PackSource& source, const PackPart& part, std::uint32_t* out);

}  // namespace duet
