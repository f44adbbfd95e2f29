#include "training/operations/expert_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace duet {

void choose(const float* logits, std::int64_t experts, std::int64_t chosen, bool normalised,
            std::int32_t* choices, float* weights) {
  // Those of the experts so far, in order.
  std::int64_t count = 0;
  for (std::int32_t expert = 0; expert < experts; ++expert) {
    if (count == chosen && logits[expert] <= logits[choices[count - 1]]) continue;
    std::int64_t at = count < chosen ? count++ : count - 1;
    for (; at > 0 && logits[choices[at - 1]] < logits[expert]; --at) choices[at] = choices[at - 1];
    choices[at] = expert;
  }
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
