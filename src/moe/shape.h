// The mixture-of-experts layers whose communication is measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace duet {

// X (tokens, hidden) of each rank. A token is multiplied by `chosen` of the experts, each of which
// computes down(silu(gate x) * up x) with gate and up (width, hidden) and down (hidden, width), and
// gets the weighted sum of their results.
struct MoeShape {
  std::string part;  // the model, or "own"
  std::int64_t hidden = 0, width = 0, experts = 0, chosen = 0;
  // Whether the weights of a token's experts add up to 1: they are divided by their sum.
  bool normalised = true;
  // Experts of this width that each rank has, and that multiply all of its tokens, as one of their
  // width together; their result is added to a token's without a weight.
  std::int64_t shared = 0;
  std::int64_t tokens = 0;  // of each rank
  DType dtype = DType::bf16;
  bool trains = false;    // a call has a backward pass too
  bool fp8_rows = false;  // rows go to experts in fp8 (QuantiseRows), and come back in `dtype`
  // Times the rows that each rank would send to an expert if all were chosen alike: what an expert
  // takes of each rank's tokens, the first ones. 0: all that choose it.
  double capacity_factor = 0;

  std::uint64_t dispatched_bytes() const;  // of a row
  std::uint64_t combined_bytes() const;
  std::int64_t shared_width() const { return shared * width; }
  bool drops() const { return capacity_factor > 0; }
  std::int64_t capacity() const;  // rows of an expert from each rank, where it drops
};

// A model's layer (gemm/expert_models.h), without what all tokens share; its weights are
// normalised. Throws UsageError for an unknown model.
MoeShape moe_shape_of(std::string_view model);

// Throws UsageError unless ranks divide the experts, a token can choose so many, and rows are
// multiples of 16 bytes, and those in fp8 of kScaledElements.
void check(const MoeShape& shape, int ranks);

}  // namespace duet
