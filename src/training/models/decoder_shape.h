// The sizes of a model of decoder blocks, and how ranks divide them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/models/gpt_config.h"
#include "training/models/parameters.h"
#include "training/operations/attention.h"

namespace duet {

// The sizes of a model's blocks, and of what they consist. A block is, with linears W:
//   middle = x + attention(norm_1(x) W) W, output = middle + activation(norm_2(middle) W) W
struct DecoderShape {
  std::int64_t layers = 0, width = 0, ffn_width = 0;
  AttentionShape attention;
  Recompute recompute = Recompute::none;
  bool rms_norm = false;  // RMSNorms instead of LayerNorms
  bool rotates = false;   // heads of q and k are normalised and rotated by their positions
  bool gates = false;     // SwiGLU instead of GELU
  // In the backward pass linears take what they have kept of their inputs, which then need no
  // memory of their own.
  bool linears_keep_inputs = false;
  // Of several ranks: heads and the FFN's width are one rank's, which between linears has a range
  // of the tokens.
  TensorShard shard = {};
  // Instead of the FFN a mixture of so many, each of this width, of which a token chooses so many;
  // 0: none. Of several ranks: they divide the experts, and each has tokens of its own.
  std::int64_t experts = 0, chosen = 0;
  TensorShard expert_shard = {};

  std::int64_t tokens() const { return attention.batch * attention.tokens; }
  std::int64_t own_tokens() const { return tokens() / shard.ranks; }
};

// Why so many ranks cannot divide such a model, as "2 KV heads, which 4 ranks cannot divide"; "" if
// they can.
std::string why_not_divisible(const DecoderShape& whole, std::int64_t vocabulary, int ranks);

// Why so many ranks cannot divide its experts, if it has any; "" if they can.
std::string why_experts_not_divisible(const DecoderShape& whole, int ranks);

// The shape of one rank's part.
DecoderShape shard_of(DecoderShape whole, const ModelShard& shard);

// One rank's part of a model's parameters. Linears into attention and the FFN are divided by their
// outputs (q, k, v, gate and up each, by whole heads), those out of them by their inputs, tables of
// tokens and heads by the vocabulary. Norms and positions are whole on all ranks. Where ranks
// divide experts, all else is whole.
std::vector<ModelParameter> shard_of(std::vector<ModelParameter> all, const DecoderShape& whole,
                                     const ModelShard& shard);

}  // namespace duet
