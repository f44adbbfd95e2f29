#include "training/models/gpt_config.h"

#include <fmt/format.h>

#include <cmath>

#include "core/names.h"
#include "training/models/find_config.h"

namespace duet {
namespace {

constexpr int kMostSteps = 1 << 30;
constexpr double kDeviation = 0.02;  // of GPT-2's initial parameters

constexpr NamedValue<Recompute> kRecomputes[] = {
    {Recompute::none, "none"}, {Recompute::attention, "attention"}, {Recompute::block, "block"}};

// FLOP per token.
double recomputed(const GptConfig& config) {
  if (config.recompute == Recompute::none) return 0;
  const double layers = static_cast<double>(config.layers), d = static_cast<double>(config.width);
  const double attention = 6 * d * d + 2 * d * static_cast<double>(config.sequence);
  if (config.recompute == Recompute::attention) return layers * attention;
  return layers * (attention + 2 * d * d + 2 * d * static_cast<double>(config.ffn_width));
}

GptConfig config_of(TomlTable table) {
  GptConfig config;
  config.name = table.text("name");
  config.layers = table.count("layers", 1, kMostLayers);
  config.heads = table.count("heads", 1, kMostHeads);
  config.width = table.count("width", 1, kWidest);
  config.ffn_width = table.count("ffn_width", 1, kWidest);
  config.vocabulary = table.count("vocabulary", 2, kMostTokens);
  config.batch = table.count("batch", 1, kMostSequences);
  config.sequence = table.count("sequence", 1, kMostTokens);
  if (table.has("steps")) config.steps = table.count("steps", 1, kMostSteps);
  if (table.has("learning_rate")) {
    config.learning_rate = table.number("learning_rate", {1e-9, 10});
  }
  if (config.width % config.heads != 0) {
    table.fail("width", fmt::format("a multiple of the {} heads", config.heads));
  }
  table.finish();
  return config;
}

}  // namespace

const char* name(Recompute recompute) { return name_of(kRecomputes, recompute); }

Recompute parse_recompute(std::string_view text) {
  return parse_name(kRecomputes, "unknown part to recompute", text);
}

std::vector<ModelParameter> parameters(const GptConfig& config) {
  std::vector<ModelParameter> all;
  const auto add_matrix = [&all](std::string name, std::int64_t rows, std::int64_t columns,
                                 double deviation = kDeviation) {
    all.push_back({std::move(name), rows, columns, rows, true, deviation, 0});
  };
  const auto add_norm = [&](const std::string& name) {
    all.push_back({name + ".weight", 1, config.width, 1, false, 0, 1});
    all.push_back({name + ".bias", 1, config.width, 1, false, 0, 0});
  };
  const double residual = kDeviation / std::sqrt(2.0 * static_cast<double>(config.layers));
  add_matrix("token_table", config.vocabulary, config.width);
  all.back().rows_in_memory = rounded_up(config.vocabulary, kVocabularyRows);
  add_matrix("position_table", config.sequence, config.width);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string block = fmt::format("block.{}.", layer);
    add_norm(block + "norm_1");
    add_matrix(block + "qkv.weight", 3 * config.width, config.width);
    add_matrix(block + "attention_out.weight", config.width, config.width, residual);
    add_norm(block + "norm_2");
    add_matrix(block + "ffn_in.weight", config.ffn_width, config.width);
    add_matrix(block + "ffn_out.weight", config.width, config.ffn_width, residual);
  }
  add_norm("norm");
  return all;
}

std::int64_t parameter_count(const GptConfig& config) { return count_of(parameters(config)); }

TrainingFlop training_flop(std::int64_t parameters, double multiplied, double attention,
                           double recomputed) {
  TrainingFlop flop;
  flop.six_n = 6 * static_cast<double>(parameters);
  flop.six_n_attention = flop.six_n + 12 * attention;
  flop.model = 6 * multiplied + 6 * attention;
  flop.hardware = flop.model + attention + recomputed;
  return flop;
}

TrainingFlop flop_per_token(const GptConfig& config) {
  const double d = static_cast<double>(config.width);
  const double attention = static_cast<double>(config.layers * config.sequence) * d;
  const double multiplied = static_cast<double>(config.layers) *
                                (4 * d * d + 2 * d * static_cast<double>(config.ffn_width)) +
                            static_cast<double>(config.vocabulary) * d;
  return training_flop(parameter_count(config), multiplied, attention, recomputed(config));
}

std::vector<GptConfig> read_gpt_configs(const std::string& file, std::string_view text) {
  return read_configs(file, text, config_of);
}

const std::vector<GptConfig>& gpt_configs() {
  static const std::vector<GptConfig> configs =
      read_gpt_configs("gpt.toml", training_spec_texts().at("gpt"));
  return configs;
}

namespace {

const std::vector<GptConfig>& built_in_configs() {
  static const std::vector<GptConfig> configs = [] {
    std::vector<GptConfig> all =
        read_gpt_configs("gpt_tiny.toml", training_spec_texts().at("gpt_tiny"));
    all.insert(all.end(), gpt_configs().begin(), gpt_configs().end());
    return all;
  }();
  return configs;
}

}  // namespace

std::vector<std::string> gpt_names() {
  std::vector<std::string> names;
  for (const GptConfig& each : built_in_configs()) names.push_back(each.name);
  return names;
}

GptConfig find_gpt(const std::string& name) {
  return find_config(name, built_in_configs(), read_gpt_configs);
}

}  // namespace duet
