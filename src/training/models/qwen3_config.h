// The sizes of a Qwen3, or of a Qwen3-MoE: its parameters, and what a step costs by the usual
// counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "training/models/gpt_config.h"
#include "training/models/parameters.h"
#include "training/operations/attention.h"
#include "training/operations/lora.h"

namespace duet {

inline constexpr double kQwen3Deviation = 0.02;  // initializer_range of Qwen3's config.json

// Pre-norm blocks with RMSNorm: grouped-query attention whose heads of q and k are normalised and
// rotated by their positions, and an FFN with SwiGLU. Linears have no biases; the head is not the
// token table. As Qwen3ForCausalLM of the transformers library, and with experts as
// Qwen3MoeForCausalLM whose weights of a token are normalised (norm_topk_prob), without a loss of
// its router's.
struct Qwen3Config {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t heads = 0;     // of q
  std::int64_t kv_heads = 0;  // of k, and of v: a divisor of `heads`
  std::int64_t head_width = 0;
  std::int64_t width = 0;  // of the residual stream
  std::int64_t ffn_width = 0;
  std::int64_t vocabulary = 0;
  std::int64_t batch = 0;     // sequences per step
  std::int64_t sequence = 0;  // tokens per sequence
  Recompute recompute = Recompute::none;
  LoraConfig lora = {};  // with adapters, all else is frozen
  // The longest sequence that its weights were made for, in tokens; 0: not known.
  std::int64_t positions = 0;
  // Instead of an FFN so many of them, each of the width `ffn_width`, of which a token chooses so
  // many; 0: none. Without adapters.
  std::int64_t experts = 0, chosen = 0;

  std::int64_t tokens() const { return batch * sequence; }  // per step
  AttentionShape attention() const { return {batch, sequence, heads, head_width, kv_heads}; }
};

// The linears of a block.
inline constexpr const char* kQwen3Linears[] = {"qkv", "attention_out", "ffn_in", "ffn_out"};
// What the transformers library has of a linear's rows, one after the other.
struct LinearPart {
  LoraTarget target;
  RowRange rows;
};
std::vector<LinearPart> parts_of(const Qwen3Config& config, std::string_view linear);
// Those with an adapter, in their order.
std::vector<RowRange> adapted_parts_of(const Qwen3Config& config, std::string_view linear);

// All parameters: the token table, each block, the last norm, the head. Weights of linears have a
// row for each output; qkv has q, k and v one after the other, ffn_in gate and up. They begin
// normal, of deviation 0.02, and norms as 1. A linear NAME with adapters has NAME.lora_a and
// NAME.lora_b before its weight, as AdapterTensors: a begins normal, of deviation 1 / sqrt(3 in),
// as the peft library's uniform numbers have, and b as 0. With experts there is a router, with a
// row for each, and in place of ffn_in and ffn_out experts_in and experts_out, with the experts'
// rows one after the other.
std::vector<ModelParameter> parameters(const Qwen3Config& config);
std::int64_t parameter_count(const Qwen3Config& config);
// As those of a GPT; attention's width is heads * head_width. No gradients of frozen weights are
// computed, so that those count 4 instead of 6. Of experts those that a token chooses count, by all
// counts.
TrainingFlop flop_per_token(const Qwen3Config& config);

// As of GPTs (gpt_config.h); the built-in models are those of specs/training/qwen3.toml.
std::vector<Qwen3Config> read_qwen3_configs(const std::string& file, std::string_view text);
const std::vector<Qwen3Config>& qwen3_configs();
Qwen3Config find_qwen3(const std::string& name);
// The same of specs/training/qwen3_moe.toml.
std::vector<Qwen3Config> read_qwen3_moe_configs(const std::string& file, std::string_view text);
const std::vector<Qwen3Config>& qwen3_moe_configs();
Qwen3Config find_qwen3_moe(const std::string& name);

}  // namespace duet
