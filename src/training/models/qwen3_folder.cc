#include "training/models/qwen3_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/plain_text.h"
#include "training/files/weight_files.h"
#include "training/models/qwen3_json.h"

namespace duet {
namespace {

// Rows of a parameter that are a tensor of the library.
struct LibraryTensor {
  std::string name;
  std::int64_t first_row, rows;
};

// A parameter, and the tensors of the library that it is made of, one after the other.
struct LibraryParameter {
  ModelParameter about;
  std::vector<LibraryTensor> tensors;
};

using Names = std::vector<std::pair<std::string, std::int64_t>>;  // each with its rows

// The library has a tensor of each expert's linears.
void add_experts(const Qwen3Config& config, std::map<std::string, Names>& names) {
  names["router.weight"] = {{"mlp.gate.weight", config.experts}};
  for (std::int64_t expert = 0; expert < config.experts; ++expert) {
    const auto add = [&](const char* own, const char* linear, std::int64_t rows) {
      names[own].emplace_back(fmt::format("mlp.experts.{}.{}.weight", expert, linear), rows);
    };
    add("experts_in.weight", "gate_proj", config.ffn_width);
    add("experts_in.weight", "up_proj", config.ffn_width);
    add("experts_out.weight", "down_proj", config.width);
  }
}

// Names of Qwen3ForCausalLM's and Qwen3MoeForCausalLM's modules, by the part of the name after
// "block.N." and "model.layers.N.".
std::map<std::string, Names> names_in_block(const Qwen3Config& config) {
  std::map<std::string, Names> names = {
      {"norm_1.weight", {{"input_layernorm.weight", 1}}},
      {"q_norm.weight", {{"self_attn.q_norm.weight", 1}}},
      {"k_norm.weight", {{"self_attn.k_norm.weight", 1}}},
      {"norm_2.weight", {{"post_attention_layernorm.weight", 1}}},
  };
  if (config.experts > 0) add_experts(config, names);
  for (const std::string linear : kQwen3Linears) {
    if (config.experts > 0 && linear.find("ffn_") == 0) continue;
    for (const LinearPart& part : parts_of(config, linear)) {
      names[linear + ".weight"].emplace_back(module_of(part.target) + ".weight",
                                             part.rows.last - part.rows.first);
    }
  }
  return names;
}

std::map<std::string, Names> library_names(const Qwen3Config& config) {
  std::map<std::string, Names> all = {
      {"token_table", {{"model.embed_tokens.weight", config.vocabulary}}},
      {"norm.weight", {{"model.norm.weight", 1}}},
      {"head.weight", {{"lm_head.weight", config.vocabulary}}}};
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    for (const auto& [own, names] : names_in_block(config)) {
      Names& here = all[fmt::format("block.{}.{}", layer, own)];
      for (const auto& [name, rows] : names) {
        here.emplace_back(fmt::format("model.layers.{}.{}", layer, name), rows);
      }
    }
  }
  return all;
}

// By Duet's name.
std::map<std::string, LibraryParameter> library_parameters(const Qwen3Config& config) {
  const std::map<std::string, Names> names = library_names(config);
  std::map<std::string, LibraryParameter> all;
  for (const ModelParameter& about : parameters(config)) {
    LibraryParameter parameter{about, {}};
    std::int64_t row = 0;
    for (const auto& [name, rows] : names.at(about.name)) {
      parameter.tensors.push_back({name, row, rows});
      row += rows;
    }
    all.emplace(about.name, std::move(parameter));
  }
  return all;
}

void check_parameter(const CheckpointTensor& each, const ModelParameter& about) {
  check_tensor(each);
  const DType dtype = each.tensor.dtype;
  const char* expected = nullptr;
  if (each.tensor.rows != about.rows || each.tensor.columns != about.columns) {
    expected = "the model's shape";
  }
  if (dtype != DType::fp32 && dtype != DType::bf16 && dtype != DType::fp16) {
    expected = "fp32, bf16 or fp16";
  }
  if (expected) throw BadArgument(fmt::format("parameter '{}': expected {}", each.name, expected));
}

// Which of `rows` of a matrix are in a part of it, in `ranges` by their numbers in `rows`; returns
// their numbers in the part.
RowRange rows_in_part(const MatrixPart& part, const RowRange& rows, std::vector<RowRange>& ranges) {
  RowRange found;
  std::int64_t row = 0;  // of the part
  for (const RowRange& each : part.ranges) {
    const std::int64_t first = std::max(each.first, rows.first);
    const std::int64_t last = std::min(each.last, rows.last);
    if (first < last) {
      if (found.count() == 0) found.first = row + first - each.first;
      found.last = row + last - each.first;
      ranges.push_back({first - rows.first, last - rows.first});
    }
    row += each.count();
  }
  return found;
}

// What is here of a tensor of the library, within the memory of the parameter.
CheckpointTensor within(const CheckpointTensor& parameter, const LibraryTensor& tensor) {
  const MatrixPart& place = parameter.place;
  const DType dtype = parameter.tensor.dtype;
  const Tensor& here = parameter.part ? *parameter.part : parameter.tensor;
  const std::int64_t here_begin = parameter.part ? parameter.first : 0;
  CheckpointTensor result{tensor.name, {{}, tensor.rows, parameter.tensor.columns, dtype}};
  RowRange rows{tensor.first_row, tensor.first_row + tensor.rows};
  std::int64_t columns = parameter.tensor.columns;
  if (!place.is_whole()) {
    columns = place.own_columns;
    result.place = {tensor.rows, place.columns, {}, place.first_column, columns};
    rows = rows_in_part(place, rows, result.place.ranges);
  }
  const std::int64_t begin = rows.first * columns;
  const std::int64_t first = std::max(begin, here_begin);
  const std::int64_t last = std::min(rows.last * columns, here_begin + here.count());
  result.part = Tensor{{}, 1, 0, dtype};
  if (first >= last) return result;
  result.first = first - begin;
  result.part->columns = last - first;
  const auto offset = static_cast<std::uint64_t>(first - here_begin) * size_of(dtype);
  result.part->span = here.span.slice(offset, result.part->bytes());
  return result;
}

// Throws BadArgument.
std::vector<CheckpointTensor> library_tensors(const Qwen3Config& config,
                                              const std::vector<CheckpointTensor>& parameters) {
  const std::map<std::string, LibraryParameter> known = library_parameters(config);
  std::vector<CheckpointTensor> all;
  std::set<std::string> names;
  for (const CheckpointTensor& each : parameters) {
    const auto found = known.find(each.name);
    if (found == known.end()) {
      throw BadArgument(fmt::format("parameter '{}': expected one of the model", each.name));
    }
    const LibraryParameter& parameter = found->second;
    check_parameter(each, parameter.about);
    names.insert(each.name);
    for (const LibraryTensor& tensor : parameter.tensors) {
      all.push_back(within(each, tensor));
      all.back().is_matrix = parameter.about.decays;
    }
  }
  if (names.size() == known.size()) return all;
  throw BadArgument(
      fmt::format("{} parameters: expected the model's {}", names.size(), known.size()));
}

SavedWeights saved_weights(const std::string& folder, const Qwen3Config& config,
                           const std::vector<CheckpointTensor>& parameters,
                           std::uint64_t most_shard_bytes, const std::string& run) {
  SavedWeights weights{folder, "", library_tensors(config, parameters), most_shard_bytes, run};
  const DType dtype = parameters.front().tensor.dtype;
  std::set<std::string> names;
  for (const CheckpointTensor& each : parameters) {
    if (each.tensor.dtype == dtype && names.insert(each.name).second) continue;
    throw BadArgument(fmt::format("parameter '{}': expected once, of one type", each.name));
  }
  weights.config = qwen3_to_json(config, dtype);
  return weights;
}

}  // namespace

Qwen3Config read_qwen3_folder(const std::string& folder, bool of_experts) {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::absolute(folder, ignored).lexically_normal();
  const std::string file = (std::filesystem::path(folder) / "config.json").string();
  Qwen3Config config =
      qwen3_from_json(file, text_of_json_file(file, "config.json of a Qwen3"), of_experts);
  config.name = one_line((path.has_filename() ? path : path.parent_path()).filename().string());
  return config;
}

void load_qwen3_folder(const std::string& folder, const Qwen3Config& config,
                       const std::vector<CheckpointTensor>& parameters) {
  const std::vector<CheckpointTensor> tensors = library_tensors(config, parameters);
  WeightFiles(folder).load(tensors);
}

// Loads nothing of each parameter.
void check_qwen3_folder(const std::string& folder, const Qwen3Config& config) {
  std::vector<CheckpointTensor> all;
  for (const ModelParameter& about : parameters(config)) {
    CheckpointTensor& each = all.emplace_back();
    each.name = about.name;
    each.tensor = {{}, about.rows, about.columns};
    each.part = Tensor{{}, 1, 0};
  }
  load_qwen3_folder(folder, config, all);
}

void save_qwen3_folder(const std::string& folder, const Qwen3Config& config,
                       const std::vector<CheckpointTensor>& parameters,
                       std::uint64_t most_shard_bytes, const std::string& run) {
  save_weights(saved_weights(folder, config, parameters, most_shard_bytes, run));
}

void save_qwen3_folder(Rank& rank, const std::string& folder, const Qwen3Config& config,
                       const std::vector<CheckpointTensor>& parameters,
                       std::uint64_t most_shard_bytes, const std::string& run) {
  std::optional<SavedWeights> weights;
  rank.team.all_or_none(
      rank, "all ranks to begin to save a model",
      [&] { weights = saved_weights(folder, config, parameters, most_shard_bytes, run); },
      kSaveSeconds);
  save_weights(rank, *weights);
}

}  // namespace duet
