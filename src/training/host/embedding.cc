#include "training/host/embedding.h"

#include <algorithm>

namespace duet {
namespace {

constexpr std::int64_t kEmbeddingColumns = 64;  // of a task that sums over rows

template <class T>
void check_embedding(const std::int32_t* tokens, std::int64_t length, const Matrix<T>& token_table,
                     const Matrix<T>& position_table, std::int64_t rows, std::int64_t width,
                     const VocabularyPart& part) {
  check_shape("token_table", token_table, token_table.rows, width);
  if (length > 0) {
    check_shape("position_table", position_table, std::max(position_table.rows, length), width);
  }
  const std::int64_t vocabulary = part.is_whole() ? token_table.rows : part.vocabulary;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (tokens[r] < 0 || tokens[r] >= vocabulary) {
      throw BadArgument("tokens must be in [0, " + std::to_string(vocabulary) + "), but token " +
                        std::to_string(r) + " is " + std::to_string(tokens[r]));
    }
  }
}

// Elements [begin, end) of `sum` += those of `row`.
template <class Real>
void add(const Real* row, std::int64_t begin, std::int64_t end, Real* sum) {
#pragma omp simd
  for (std::int64_t j = begin; j < end; ++j) sum[j] += row[j];
}

}  // namespace

template <class Real>
void embedding(const std::int32_t* tokens, std::int64_t length, Matrix<const Real> token_table,
               Matrix<const Real> position_table, Matrix<Real> x, const VocabularyPart& part) {
  check_embedding(tokens, length, token_table, position_table, x.rows, x.columns, part);
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < x.rows; ++r) {
    Real* const to = x.row(r);
    const std::int64_t row = part.row_of(tokens[r], token_table.rows);
    if (row >= 0) std::copy_n(token_table.row(row), x.columns, to);
    if (row < 0) std::fill_n(to, x.columns, Real(0));
    if (length > 0) add(position_table.row(r % length), 0, x.columns, to);
  }
}

template <class Real>
void embedding_backward(const std::int32_t* tokens, std::int64_t length, Matrix<const Real> dx,
                        Matrix<Real> dtoken_table, Matrix<Real> dposition_table,
                        const VocabularyPart& part) {
  check_embedding(tokens, length, dtoken_table, dposition_table, dx.rows, dx.columns, part);
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < dx.columns; begin += kEmbeddingColumns) {
    const std::int64_t end = std::min(begin + kEmbeddingColumns, dx.columns);
    for (std::int64_t r = 0; r < dx.rows; ++r) {
      const std::int64_t row = part.row_of(tokens[r], dtoken_table.rows);
      if (row >= 0) add(dx.row(r), begin, end, dtoken_table.row(row));
      if (length > 0) add(dx.row(r), begin, end, dposition_table.row(r % length));
    }
  }
}

#define DUET_INSTANTIATE(Real)                                                                  \
  template void embedding<Real>(const std::int32_t*, std::int64_t, Matrix<const Real>,          \
                                Matrix<const Real>, Matrix<Real>, const VocabularyPart&);       \
  template void embedding_backward<Real>(const std::int32_t*, std::int64_t, Matrix<const Real>, \
                                         Matrix<Real>, Matrix<Real>, const VocabularyPart&);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
