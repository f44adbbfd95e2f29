#include "training/models/qwen3_config.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "training/models/find_config.h"
#include "training/operations/operation.h"

namespace duet {
namespace {

// FLOP per token.
double recomputed(const Qwen3Config& c) {
  if (c.recompute == Recompute::none) return 0;
  const double attended = static_cast<double>(c.heads * c.head_width);
  const double d = static_cast<double>(c.width);
  const double attention = 2 * d * static_cast<double>(c.attention().qkv_width()) +
                           2 * attended * static_cast<double>(c.sequence);
  const double layers = static_cast<double>(c.layers);
  if (c.recompute == Recompute::attention) return layers * attention;
  double ffn = 4 * d * static_cast<double>(c.ffn_width);
  if (c.experts > 0) {  // the router, and the products of which the backward pass needs results
    ffn = 2 * d * static_cast<double>(c.experts) +
          6 * d * static_cast<double>(c.ffn_width * c.chosen);
  }
  return layers * (attention + 2 * d * attended + ffn);
}

// `of_experts`: whether the models have experts.
Qwen3Config qwen3_config_of(TomlTable table, bool of_experts) {
  Qwen3Config config;
  config.name = table.text("name");
  config.layers = table.count("layers", 1, kMostLayers);
  config.heads = table.count("heads", 1, kMostHeads);
  config.kv_heads = table.count("kv_heads", 1, kMostHeads);
  config.head_width = table.count("head_width", 2, kWidest);
  config.width = table.count("width", 1, kWidest);
  config.ffn_width = table.count("ffn_width", 1, kWidest);
  config.vocabulary = table.count("vocabulary", 2, kMostTokens);
  config.batch = table.count("batch", 1, kMostSequences);
  config.sequence = table.count("sequence", 1, kMostTokens);
  if (config.heads % config.kv_heads != 0) {
    table.fail("kv_heads", fmt::format("a divisor of the {} heads", config.heads));
  }
  if (config.head_width % 2 != 0) table.fail("head_width", "an even number");
  if (of_experts) {
    config.experts = table.count("experts", 1, kMostExperts);
    config.chosen = table.count("chosen", 1, kMostChosenExperts);
    if (config.chosen > config.experts) {
      table.fail("chosen", fmt::format("at most the {} experts", config.experts));
    }
  }
  table.finish();
  return config;
}

// Of a parameter, those elements that a token is multiplied by.
double used_share(const Qwen3Config& config, const ModelParameter& about) {
  if (about.name.find(".experts_") == std::string::npos) return 1;
  return static_cast<double>(config.chosen) / static_cast<double>(config.experts);
}

}  // namespace

std::vector<LinearPart> parts_of(const Qwen3Config& config, std::string_view linear) {
  const AttentionShape attention = config.attention();
  const std::int64_t q = attention.width(), k = attention.key_width(), f = config.ffn_width;
  if (linear == "qkv") {
    return {
        {LoraTarget::q, {0, q}}, {LoraTarget::k, {q, q + k}}, {LoraTarget::v, {q + k, q + 2 * k}}};
  }
  if (linear == "ffn_in") return {{LoraTarget::gate, {0, f}}, {LoraTarget::up, {f, 2 * f}}};
  if (linear == "attention_out") return {{LoraTarget::o, {0, config.width}}};
  return {{LoraTarget::down, {0, config.width}}};
}

std::vector<RowRange> adapted_parts_of(const Qwen3Config& config, std::string_view linear) {
  std::vector<RowRange> adapted;
  if (config.lora.rank == 0) return adapted;
  for (const LinearPart& each : parts_of(config, linear)) {
    if (config.lora.targets.count(each.target) > 0) adapted.push_back(each.rows);
  }
  return adapted;
}

std::vector<ModelParameter> parameters(const Qwen3Config& config) {
  std::vector<ModelParameter> all;
  const bool frozen = config.lora.rank > 0;
  const auto add_matrix = [&](std::string name, std::int64_t rows, std::int64_t columns) {
    all.push_back({std::move(name), rows, columns, rows, true, kQwen3Deviation, 0, false, frozen});
  };
  const auto add_norm = [&](const std::string& name, std::int64_t columns) {
    all.push_back({name + ".weight", 1, columns, 1, false, 0, 1, false, frozen});
  };
  const auto add_linear = [&](const std::string& block, const std::string& linear,
                              std::int64_t rows, std::int64_t columns) {
    const std::vector<RowRange> adapted = adapted_parts_of(config, linear);
    if (!adapted.empty()) {
      const std::int64_t width = static_cast<std::int64_t>(adapted.size()) * config.lora.rank;
      const double deviation = 1 / std::sqrt(3.0 * static_cast<double>(columns));
      all.push_back({block + linear + ".lora_a", width, columns, width, true, deviation, 0});
      all.push_back({block + linear + ".lora_b", rows, width, rows, true, 0, 0});
      all.back().first_row = adapted.front().first;
    }
    add_matrix(block + linear + ".weight", rows, columns);
  };
  const AttentionShape attention = config.attention();
  const std::int64_t vocabulary_rows = rounded_up(config.vocabulary, kVocabularyRows);
  add_matrix("token_table", config.vocabulary, config.width);
  all.back().sparse = true;  // the head is another matrix
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string block = fmt::format("block.{}.", layer);
    add_norm(block + "norm_1", config.width);
    add_linear(block, "qkv", attention.qkv_width(), config.width);
    add_norm(block + "q_norm", config.head_width);
    add_norm(block + "k_norm", config.head_width);
    add_linear(block, "attention_out", config.width, attention.width());
    add_norm(block + "norm_2", config.width);
    if (config.experts > 0) {
      add_matrix(block + "router.weight", config.experts, config.width);
      add_matrix(block + "experts_in.weight", config.experts * 2 * config.ffn_width, config.width);
      all.back().sparse = true;
      add_matrix(block + "experts_out.weight", config.experts * config.width, config.ffn_width);
      all.back().sparse = true;
      continue;
    }
    add_linear(block, "ffn_in", 2 * config.ffn_width, config.width);
    add_linear(block, "ffn_out", config.width, config.ffn_width);
  }
  add_norm("norm", config.width);
  add_matrix("head.weight", config.vocabulary, config.width);
  all.back().rows_in_memory = vocabulary_rows;
  return all;
}

std::int64_t parameter_count(const Qwen3Config& config) { return count_of(parameters(config)); }

TrainingFlop flop_per_token(const Qwen3Config& config) {
  const double attention =
      static_cast<double>(config.layers * config.sequence * config.attention().width());
  double used = 0, multiplied = 0;  // norms and the look-up in the token table are not
  for (const ModelParameter& each : parameters(config)) {
    const double count = static_cast<double>(each.count()) * used_share(config, each);
    used += count;
    if (!each.decays || each.name == "token_table") continue;
    multiplied += count * (each.frozen ? 4.0 / 6 : 1);
  }
  return training_flop(static_cast<std::int64_t>(used), multiplied, attention, recomputed(config));
}

std::vector<Qwen3Config> read_qwen3_configs(const std::string& file, std::string_view text) {
  return read_configs(file, text,
                      [](TomlTable table) { return qwen3_config_of(std::move(table), false); });
}

std::vector<Qwen3Config> read_qwen3_moe_configs(const std::string& file, std::string_view text) {
  return read_configs(file, text,
                      [](TomlTable table) { return qwen3_config_of(std::move(table), true); });
}

const std::vector<Qwen3Config>& qwen3_moe_configs() {
  static const std::vector<Qwen3Config> configs =
      read_qwen3_moe_configs("qwen3_moe.toml", training_spec_texts().at("qwen3_moe"));
  return configs;
}

Qwen3Config find_qwen3_moe(const std::string& name) {
  return find_config(name, qwen3_moe_configs(), read_qwen3_moe_configs);
}

const std::vector<Qwen3Config>& qwen3_configs() {
  static const std::vector<Qwen3Config> configs =
      read_qwen3_configs("qwen3.toml", training_spec_texts().at("qwen3"));
  return configs;
}

Qwen3Config find_qwen3(const std::string& name) {
  return find_config(name, qwen3_configs(), read_qwen3_configs);
}

}  // namespace duet
