// Low-rank adapters (LoRA, arXiv 2106.09685): the weight w of a linear is frozen, and
//   y = x w^T + alpha / rank * (x a^T) b^T
// with trained a (rank, in) and b (out, rank).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "training/operations/tensor.h"

namespace duet {

// The linears of a block as the transformers library divides them.
enum class LoraTarget { q, k, v, o, gate, up, down };
const char* name(LoraTarget target);                  // the library's: "q_proj"
std::string module_of(LoraTarget target);             // within a block: "self_attn.q_proj"
LoraTarget parse_lora_target(std::string_view text);  // throws UsageError
std::set<LoraTarget> all_lora_targets();

struct LoraConfig {
  std::int64_t rank = 0;  // 0: no adapters
  double alpha = 0;
  std::set<LoraTarget> targets;

  double scale() const { return alpha / static_cast<double>(rank); }
};

// The adapters of one linear, side by side: adapter i has rows [i * rank, (i + 1) * rank) of a, and
// of b the rows parts[i] of columns [i * rank, (i + 1) * rank); all else of b is zeros.
struct AdapterTensors {
  std::vector<RowRange> parts;
  double scale = 1;  // alpha / rank
  Tensor a, b;       // (parts * rank, in), (out, parts * rank)
  Tensor a_gradient, b_gradient;
  Tensor reduced;           // scale * x a^T: (tokens, parts * rank), kept for the backward pass
  Tensor reduced_gradient;  // workspace of the same size
};

}  // namespace duet
