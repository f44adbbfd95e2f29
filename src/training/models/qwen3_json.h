// The sizes of a Qwen3 or a Qwen3-MoE in a config.json of Hugging Face's transformers library.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "training/models/qwen3_config.h"

namespace duet {

// The longest sequence that qwen3_from_json() takes, in tokens: 8b's.
inline constexpr std::int64_t kMostReadSequence = 8192;

// Sizes within the bounds of find_config.h, a batch of 1, and a sequence of
// max_position_embeddings, but at most kMostReadSequence. A key that is missing has the default of
// the library's Qwen3Config, the same in its releases 4.51 to 5; so a rope_theta must be there,
// since its default is not the models'. Throws UsageError "FILE: KEY is VALUE: expected ..." unless
// Duet's Qwen3 computes the same (a head of its own, no biases, no sliding windows, no dropout,
// rope_theta 1e6, rms_norm_eps 1e-6, no scaled positions). Without a name. Keys that say nothing
// about the computation are ignored. `of_experts`: of a Qwen3-MoE, by the defaults of
// Qwen3MoeConfig; so norm_topk_prob must be there. All its layers have experts, and its loss none
// of the router's.
Qwen3Config qwen3_from_json(const std::string& file, const std::string& text,
                            bool of_experts = false);

// With max_position_embeddings as it was read or, if that is shorter, the sequence. `dtype`: fp32,
// bf16 or fp16, of the weights.
std::string qwen3_to_json(const Qwen3Config& config, DType dtype);

}  // namespace duet
