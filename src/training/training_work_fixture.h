// Small models and short measurements of their steps, for tests.
#pragma once

#include "training/cases.h"
#include "training/models/gpt.h"

namespace duet {

inline GptConfig one_block() {
  GptConfig config = find_gpt("small");
  config.layers = 1;
  config.vocabulary = 101;
  config.batch = 1;
  config.sequence = 16;
  return config;
}

// Small enough to be computed on a simulated machine.
inline GptConfig one_narrow_block() {
  GptConfig config = one_block();
  config.width = 48;
  config.ffn_width = 64;
  return config;
}

inline Mode brief() {
  Mode mode;
  mode.min_iterations = mode.max_iterations = 3;
  mode.warm_up_seconds = 0;
  return mode;
}

inline TrainingOptions options_of(const ModelDescription& model, const char* recipe) {
  TrainingOptions options;
  options.models = {model};
  options.recipes = {find_recipe(recipe)};
  options.mode = brief();
  return options;
}

// With parts of steps, by a collective engine and without communication.
inline TrainingOptions shards_of_7b(std::int64_t layers, Parallel parallel) {
  GptConfig config = find_gpt("7b");
  config.layers = layers;
  config.batch = 1;
  TrainingOptions options = options_of(describe(config), "bf16");
  options.breakdown = true;
  options.parallel.kind = parallel;
  options.engines = {"dma", kNoEngine};
  return options;
}

}  // namespace duet
