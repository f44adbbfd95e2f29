// Text that a model of bytes makes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "training/files/checkpoint.h"
#include "training/models/token_model.h"

namespace duet {

struct Generation {
  std::int64_t tokens = 0;   // bytes to make; 0: none
  std::string prompt;        // what they follow; "": a newline
  double temperature = 0.8;  // divides the logits; 0: always the most probable byte
  std::uint64_t seed = 1;
};

// Gets from 1 to `sequence` tokens, and returns the logits of the next one; none: the text ends.
using NextLogits = std::function<std::vector<float>(const std::vector<std::int32_t>& context)>;

// The bytes that follow the prompt. The context is the last `sequence` tokens. Throws Error for
// logits that are not finite.
std::string generate(const Generation& asked, std::int64_t sequence, const NextLogits& next);

// The context passes as the first sequence of a batch, whose other tokens are 0, through `forward`,
// which enqueues the model's pass on the stream. Blocks.
std::vector<float> logits_after(const std::vector<std::int32_t>& context, TokenModel& model,
                                Device& device, Stream& stream,
                                const std::function<void()>& forward);

// Text by the model of a checkpoint that a run on bytes has written. `model` is described as for
// that run, with any batch; `weights`: the folder with its frozen parameters, if it has any. Throws
// UsageError if the checkpoint is of another model or of other tokens than bytes.
std::string generate_from(const std::string& checkpoint, TokenModelDescription model,
                          const Recipe& recipe, const std::string& weights, Device& device,
                          const Generation& asked);

}  // namespace duet
