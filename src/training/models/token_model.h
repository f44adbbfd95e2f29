// Models of tokens: their common base class, and their descriptions.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "training/files/checkpoint.h"
#include "training/models/decoder_shape.h"
#include "training/models/model.h"

namespace duet {

inline Tensor row_of(const Tensor& tensor, std::int64_t row) {
  Tensor one{{}, 1, tensor.columns, tensor.dtype};
  one.span = tensor.span.slice(static_cast<std::uint64_t>(row) * one.bytes(), one.bytes());
  return one;
}

class TokenModel : public Model {
 public:
  void make_random_input(Stream& stream, std::uint64_t batch) override;

  // Call it after forward(). Enqueues the logits of the token that follows `row` of the batch; the
  // result, of one row, is valid until the next call. Columns from the vocabulary on are padding.
  virtual Tensor next_logits(Stream& stream, std::int64_t row) = 0;

  // int32 (1, batch * sequence), written by make_random_input() or by the caller.
  const Tensor& tokens() const { return tokens_; }
  const Tensor& targets() const { return targets_; }

 protected:
  TokenModel(Device& device, Operations& operations, Parameters parameters,
             std::int64_t vocabulary);

  // For lay_out(): tokens, targets and losses of `count` tokens.
  void lay_out_tokens(std::int64_t count);
  const Tensor& row_losses() const { return row_losses_; }
  std::int64_t vocabulary() const { return vocabulary_; }

 private:
  std::int64_t vocabulary_;
  Tensor tokens_, targets_, row_losses_;
};

// Weights of a model in a folder of another library. `weights`: the model's frozen parameters, or
// all parameters if none is frozen, by Duet's names: whole, or a rank's parts.
struct ModelFolder {
  // Throws what load() would before it reads any weight.
  std::function<void(const std::string& folder)> check;
  // May give a parameter once for each type that it is wanted in. Blocks; as load_qwen3_folder().
  std::function<void(const std::string& folder, const std::vector<CheckpointTensor>& weights)> load;
  // Saves trained parameters. `base`: the folder of the frozen ones; `run`: see metadata_of_run().
  // Collective, inside each().
  std::function<void(Rank& rank, const std::string& folder, const std::string& base,
                     const std::vector<CheckpointTensor>& trained, const std::string& run)>
      save;
};

// A model of tokens that has not been constructed, for training on a text.
struct TokenModelDescription {
  ModelDescription model;
  std::int64_t batch = 0, sequence = 0, vocabulary = 0;
  std::int64_t steps = 0;                    // default of a run; 0: none
  double learning_rate = 0;                  // default of a run; 0: none
  std::map<std::string, std::string> sizes;  // without those above
  std::function<std::unique_ptr<TokenModel>(const Recipe&, const Optimizer&, const ModelShard&,
                                            Device&, Operations&)>
      make;
  std::function<TokenModelDescription(std::int64_t vocabulary)> with_vocabulary;
  ModelFolder folder;  // empty: the model cannot be loaded from or saved to a folder
};

// `elements`: ModelDescription::elements_moved of one token; `shape`: of the whole model.
template <typename OwnModel, typename Config>
ModelDescription describe_token_model(const Config& config, const std::string& model_name,
                                      double elements, const DecoderShape& shape) {
  const TrainingFlop flop = flop_per_token(config);
  const double tokens = static_cast<double>(config.tokens());
  ModelDescription model;
  model.name = model_name;
  model.axes = {{"batch", config.batch},
                {"sequence", config.sequence},
                {"layers", config.layers},
                {"parameters", parameter_count(config)}};
  if (config.recompute != Recompute::none) model.axes.set("recompute", name(config.recompute));
  model.cost.more = {{kTokens, tokens}};
  model.cost.flop = flop.model * tokens;
  for (const ModelParameter& each : parameters(config)) {
    if (!each.frozen) model.trained_parameters += static_cast<double>(each.count());
  }
  model.elements_moved = tokens * elements;
  model.six_n = flop.six_n * tokens;
  model.six_n_attention = flop.six_n_attention * tokens;
  model.hardware = flop.hardware * tokens;
  model.untrained_loss = std::log(static_cast<double>(config.vocabulary));
  model.why_not_divisible = [shape, vocabulary = config.vocabulary](int ranks) {
    return why_not_divisible(shape, vocabulary, ranks);
  };
  set_making<OwnModel>(model, config);
  return model;
}

// For models with describe(config) and describe_for_text(config); the latter calls this.
template <typename OwnModel, typename Config>
TokenModelDescription describe_sizes_for_text(const Config& config,
                                              const std::map<std::string, std::string>& sizes) {
  TokenModelDescription description;
  description.model = describe(config);
  description.batch = config.batch;
  description.sequence = config.sequence;
  description.vocabulary = config.vocabulary;
  description.sizes = sizes;
  description.make = [config](const Recipe& recipe, const Optimizer& optimizer,
                              const ModelShard& shard, Device& device,
                              Operations& operations) -> std::unique_ptr<TokenModel> {
    return std::make_unique<OwnModel>(config, recipe, optimizer, device, operations, shard);
  };
  description.with_vocabulary = [config](std::int64_t vocabulary) {
    Config changed = config;
    changed.vocabulary = vocabulary;
    return describe_for_text(changed);
  };
  return description;
}

}  // namespace duet
