// A Qwen3 or a Qwen3-MoE in a folder as Hugging Face's transformers library saves it: config.json,
// and the weights in model.safetensors or in shards with an index (weight_files.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "team/team.h"
#include "training/files/checkpoint.h"
#include "training/models/qwen3_config.h"

namespace duet {

inline constexpr std::uint64_t kMostShardBytes = 5000000000;  // max_shard_size of its release 4

// The sizes in the folder's config.json (qwen3_json.h), with the folder's last component as name.
// Throws UsageError. `of_experts`: of a Qwen3-MoE.
Qwen3Config read_qwen3_folder(const std::string& folder, bool of_experts = false);

// Reads parameters of the model, by Duet's names and of the shapes that parameters(config) says, of
// fp32, bf16 or fp16; F32, BF16 and F16 in files are converted. Each parameter is given once for
// each type that it is wanted in (fp32 master parameters beside bf16 ones): whole, or a rank's part
// of it, which may be empty.
//
// Blocking; no stream may use the memory meanwhile. Not collective: of several ranks, each reads
// its parts. Throws UsageError, and has written nothing, unless the files have exactly the tensors
// of this model; BadArgument for parameters that are missing, unknown or of another shape, and as
// check_tensor() does. If a file then fails to be read, the UsageError leaves the memory partly
// written.
void load_qwen3_folder(const std::string& folder, const Qwen3Config& config,
                       const std::vector<CheckpointTensor>& parameters);

// Throws what load_qwen3_folder() would before it reads any weight.
void check_qwen3_folder(const std::string& folder, const Qwen3Config& config);

// Writes config.json and all parameters, each once, of one type. In shards of at most
// `most_shard_bytes` of tensors if they have more. `run`: that saves them (SavedWeights). What
// happens to files that are there, and where it fails: save_weights(). Throws BadArgument as
// load_qwen3_folder() does. Blocking; it waits for no stream.
void save_qwen3_folder(const std::string& folder, const Qwen3Config& config,
                       const std::vector<CheckpointTensor>& parameters,
                       std::uint64_t most_shard_bytes = kMostShardBytes,
                       const std::string& run = {});
// The same by all ranks of a team, each of which writes its parts of all parameters. All processes
// must reach the folder by this path. Collective, inside each(); throws on all ranks.
void save_qwen3_folder(Rank& rank, const std::string& folder, const Qwen3Config& config,
                       const std::vector<CheckpointTensor>& parameters,
                       std::uint64_t most_shard_bytes = kMostShardBytes,
                       const std::string& run = {});

}  // namespace duet
