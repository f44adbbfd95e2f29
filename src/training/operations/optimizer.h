// What optimizers update, and the values of a step that they take.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "device/buffer.h"
#include "training/operations/tensor.h"

namespace duet {

// Values that change from step to step, in device memory, so that one captured graph can run all
// steps.
struct StepState {
  std::int64_t step = 0;   // from 1 while a step runs
  std::uint64_t seed = 0;  // of the tokens that a step makes
  double learning_rate = 0;
  double gradient_factor = 1;  // of all gradients before the update
};

// The seed of the random numbers of one tensor in a step; `column` distinguishes tensors of a step.
DUET_HOST_DEVICE inline std::uint64_t seed_of(const StepState& state, std::uint64_t column) {
  return random_word(state.seed, static_cast<std::uint64_t>(state.step)) + column;
}

// Whether a StepState has room in it.
inline bool holds_state(const Span& span) { return span.bytes >= sizeof(StepState); }

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};

// Parameters that are updated in the same way, with their gradients and states: tensors of one
// shape. bf16 parameters without a master, and bf16 moments, are rounded stochastically: rounding
// to nearest would lose updates that are small relative to the value.
struct OptimizerTensors {
  Tensor parameters, gradients;
  Tensor first_moments, second_moments;  // AdamW's; {} for SGD
  Tensor master;  // fp32 parameters, which are updated, and then rounded to `parameters`; may be {}
  std::int64_t first = 0;  // the first element's number, on which its random rounding depends

  bool fit() const {
    const std::int64_t count = parameters.count();
    return gradients.count() == count && (master.count() == 0 || master.count() == count);
  }
};

}  // namespace duet
