// Whether the gradients of a whole model are differences of its loss, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "training/models/parameters.h"

namespace duet {

// On a host device, whose gradients are there. Along the gradient of each parameter: fp32 loses
// what a single element would change. `relative`: of the gradient's norm, the largest difference.
inline void expect_differences_of_loss(const Parameters& parameters,
                                       const std::function<double()>& loss, double relative,
                                       double absolute) {
  for (const TrainedParameter& each : parameters.all()) {
    auto* const weights = reinterpret_cast<float*>(each.tensors.parameters.span.data);
    const auto* const gradients = reinterpret_cast<float*>(each.tensors.gradients.span.data);
    const std::vector<float> gradient(gradients, gradients + each.about.count());
    double norm = 0;
    for (const float g : gradient) norm += static_cast<double>(g) * static_cast<double>(g);
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0) << each.about.name;
    const auto moved = [&](double along) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        weights[i] += static_cast<float>(along * static_cast<double>(gradient[i]) / norm);
      }
      return loss();
    };
    constexpr double kStep = 0.02;
    const double above = moved(kStep), below = moved(-2 * kStep);
    moved(kStep);
    EXPECT_NEAR((above - below) / (2 * kStep), norm, relative * norm + absolute) << each.about.name;
  }
}

}  // namespace duet
