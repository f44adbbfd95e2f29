#include "training/host/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "training/host/vectors.h"

namespace duet {
namespace {

void check_targets(const std::int32_t* targets, std::int64_t rows, std::int64_t vocabulary) {
  for (std::int64_t i = 0; i < rows; ++i) {
    if (targets[i] < 0 || targets[i] >= vocabulary) {
      throw BadArgument("targets must be in [0, " + std::to_string(vocabulary) + "), but target " +
                        std::to_string(i) + " is " + std::to_string(targets[i]));
    }
  }
}

template <class Real>
DUET_INLINE Real maximum_of(const Real* x, std::int64_t count) {
  Vector<Real> largest = {}, value;
  largest += -std::numeric_limits<Real>::infinity();
  std::int64_t j = 0;
  for (; j + kLanes<Real> <= count; j += kLanes<Real>) {
    load(value, x + j);
    largest = value <= largest ? largest : value;
  }
  Real maximum = -std::numeric_limits<Real>::infinity();
  for (std::int64_t i = 0; i < kLanes<Real>; ++i) maximum = std::max(maximum, largest[i]);
  for (; j < count; ++j) maximum = std::max(maximum, x[j]);
  return maximum;
}

// to = exp(x - maximum), if there is `to`, which may be x; returns the sum.
template <class Real>
DUET_INLINE Real exponentiate_row(const Real* x, Real* to, Real maximum, std::int64_t count) {
  Vector<Real> sum = {}, value;
  for (std::int64_t j = 0; j < count; j += kLanes<Real>) {
    load(value, x + j, count - j);
    value -= maximum;
    exponentiate(value);
    if (to != nullptr) store(to + j, value, count - j);
    for (std::int64_t i = count - j; i < kLanes<Real>; ++i) value[i] = 0;
    sum += value;
  }
  return sum_of_lanes<Real>(sum);
}

}  // namespace

template <class Real>
double mean_of_values(const Real* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
  return sum / static_cast<double>(count);
}

template <class Real>
double cross_entropy(Matrix<Real> logits, std::int64_t vocabulary, const std::int32_t* targets,
                     double scale, Real* row_losses) {
  if (vocabulary > logits.columns) check_shape("logits", logits, logits.rows, vocabulary);
  check_targets(targets, logits.rows, vocabulary);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    on_widest_vectors([&]() DUET_INLINE_BODY {
      Real* const row = logits.row(i);
      const Real maximum = maximum_of(row, vocabulary), wanted = row[targets[i]];
      const Real total = exponentiate_row(row, row, maximum, vocabulary);
      const Real factor = static_cast<Real>(scale) / total;
#pragma omp simd
      for (std::int64_t j = 0; j < vocabulary; ++j) row[j] *= factor;
      row[targets[i]] -= static_cast<Real>(scale);
      std::fill(row + vocabulary, row + logits.columns, Real(0));
      row_losses[i] = std::log(total) + maximum - wanted;
    });
  }
  return mean_of_values(row_losses, logits.rows);
}

template <class Real>
void cross_entropy_sums(Matrix<const Real> logits, std::int64_t columns,
                        const std::int32_t* targets, const VocabularyPart& part, Real* sums) {
  check_targets(targets, logits.rows, part.vocabulary);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    on_widest_vectors([&]() DUET_INLINE_BODY {
      const Real* const row = logits.row(i);
      const std::int64_t target = part.row_of(targets[i], columns);
      Real* const to = sums + 3 * i;
      to[0] = maximum_of(row, columns);
      to[1] = exponentiate_row<Real>(row, nullptr, to[0], columns);
      to[2] = target < 0 ? Real(0) : row[target];
    });
  }
}

namespace {

// The sums of one row of the whole vocabulary, in the order of the parts.
template <class Real>
struct ExponentialSums {
  Real maximum, total, wanted;

  ExponentialSums(const SumsOfParts<Real>& all, std::int64_t row, std::int64_t rows)
      : maximum(-std::numeric_limits<Real>::infinity()), total(0), wanted(0) {
    const auto own = [&](std::int64_t part) { return all.sums + 3 * (part * rows + row); };
    for (std::int64_t p = 0; p < all.parts; ++p) maximum = std::max(maximum, own(p)[0]);
    for (std::int64_t p = 0; p < all.parts; ++p) {
      total += own(p)[1] * std::exp(own(p)[0] - maximum);
      wanted += own(p)[2];
    }
  }
};

}  // namespace

template <class Real>
void cross_entropy_of_part(Matrix<Real> logits, std::int64_t columns, const std::int32_t* targets,
                           const VocabularyPart& part, const SumsOfParts<Real>& all, double scale,
                           Real* row_losses) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    on_widest_vectors([&]() DUET_INLINE_BODY {
      Real* const row = logits.row(i);
      const ExponentialSums<Real> sums(all, i, logits.rows);
      exponentiate_row(row, row, sums.maximum, columns);
      const Real factor = static_cast<Real>(scale) / sums.total;
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) row[j] *= factor;
      const std::int64_t target = part.row_of(targets[i], columns);
      if (target >= 0) row[target] -= static_cast<Real>(scale);
      std::fill(row + columns, row + logits.columns, Real(0));
      row_losses[i] = std::log(sums.total) + sums.maximum - sums.wanted;
    });
  }
}

template <class Real>
double mean_squared_error(Matrix<const Real> prediction, Matrix<const Real> target, double scale,
                          Matrix<Real> dprediction, Real* row_losses) {
  check_shape("target", target, prediction.rows, prediction.columns);
  check_shape("dprediction", dprediction, prediction.rows, prediction.columns);
  const Real factor = static_cast<Real>(2 * scale);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < prediction.rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < prediction.columns; ++j) {
      const Real difference = prediction.row(i)[j] - target.row(i)[j];
      sum += static_cast<double>(difference) * static_cast<double>(difference);
      dprediction.row(i)[j] = factor * difference;
    }
    row_losses[i] = static_cast<Real>(sum / static_cast<double>(prediction.columns));
  }
  return mean_of_values(row_losses, prediction.rows);
}

#define DUET_INSTANTIATE(Real)                                                                  \
  template double mean_of_values<Real>(const Real*, std::int64_t);                              \
  template double cross_entropy<Real>(Matrix<Real>, std::int64_t, const std::int32_t*, double,  \
                                      Real*);                                                   \
  template void cross_entropy_sums<Real>(Matrix<const Real>, std::int64_t, const std::int32_t*, \
                                         const VocabularyPart&, Real*);                         \
  template void cross_entropy_of_part<Real>(Matrix<Real>, std::int64_t, const std::int32_t*,    \
                                            const VocabularyPart&, const SumsOfParts<Real>&,    \
                                            double, Real*);                                     \
  template double mean_squared_error<Real>(Matrix<const Real>, Matrix<const Real>, double,      \
                                           Matrix<Real>, Real*);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
