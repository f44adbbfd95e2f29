#include "training/operations/expert_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace duet {

void choose(const float* logits, std::int64_t experts, std::int64_t chosen, bool normalised,
            std::int32_t* choices, float* weights) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + chosen, order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  std::copy_n(order.begin(), chosen, choices);
  const float largest = logits[choices[0]];
  const auto power = [largest](float logit) { return std::exp(logit - largest); };
  std::transform(choices, choices + chosen, weights,
                 [&](std::int32_t expert) { return power(logits[expert]); });
  float sum = std::accumulate(weights, weights + chosen, 0.0f);
  if (!normalised) {
    sum = std::accumulate(logits, logits + experts, 0.0f,
                          [&](float all, float logit) { return all + power(logit); });
  }
  for (std::int64_t j = 0; j < chosen; ++j) weights[j] /= sum;
}

}  // namespace duet
