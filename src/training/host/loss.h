#pragma once

#include "training/host/matrix.h"
#include "training/operations/vocabulary_part.h"

namespace duet {

// The mean, summed in double in the order of the values.
template <class Real>
double mean_of_values(const Real* values, std::int64_t count);

// The mean of the rows' losses, log(sum over j < vocabulary of exp(logits[j])) - logits[target].
// Replaces the logits by scale * (softmax - [j == target]): 1 / rows is the mean's gradient.
// Columns from `vocabulary` on are not read and become 0. Keeps every row's loss in row_losses
// (rows). Throws BadArgument if a target is outside [0, vocabulary).
template <class Real>
double cross_entropy(Matrix<Real> logits, std::int64_t vocabulary, const std::int32_t* targets,
                     double scale, Real* row_losses);

// Of each row of logits that are a part of the vocabulary, in sums (rows, 3): the maximum of
// logits[j], j < columns, the sum of exp(logits[j] - maximum), and the target's logit or, if the
// part has none, 0. Throws BadArgument if a target is outside the vocabulary.
template <class Real>
void cross_entropy_sums(Matrix<const Real> logits, std::int64_t columns,
                        const std::int32_t* targets, const VocabularyPart& part, Real* sums);

// Those of several parts, one after the other.
template <class Real>
struct SumsOfParts {
  const Real* sums;
  std::int64_t parts;
};

// cross_entropy() of a part, with the sums of all parts that together are the vocabulary.
template <class Real>
void cross_entropy_of_part(Matrix<Real> logits, std::int64_t columns, const std::int32_t* targets,
                           const VocabularyPart& part, const SumsOfParts<Real>& all, double scale,
                           Real* row_losses);

// The mean of (prediction - target)^2 over all elements, summed in the order of the rows.
// dprediction = scale * 2 * (prediction - target): 1 / (rows * columns) is the mean's gradient;
// it may be the prediction. Keeps every row's mean in row_losses (rows).
template <class Real>
double mean_squared_error(Matrix<const Real> prediction, Matrix<const Real> target, double scale,
                          Matrix<Real> dprediction, Real* row_losses);

}  // namespace duet
