#pragma once

#include <cmath>
#include <string>

#include "training/gpt_config.h"
#include "training/model.h"

namespace duet {

// The description of a model of tokens. `elements`: of activations that a token moves, as
// ModelDescription::elements_moved.
template <typename OwnModel, typename Config>
ModelDescription describe_token_model(const Config& config, const std::string& model_name,
                                      double elements) {
  const TrainingFlop flop = flop_per_token(config);
  const double tokens = static_cast<double>(config.tokens());
  ModelDescription model;
  model.name = model_name;
  model.axes = {{"batch", config.batch},
                {"sequence", config.sequence},
                {"layers", config.layers},
                {"parameters", parameter_count(config)}};
  if (config.recompute != Recompute::none) model.axes.set("recompute", name(config.recompute));
  model.cost.tokens = tokens;
  model.cost.flop = flop.model * tokens;
  model.parameters = static_cast<double>(parameter_count(config));
  model.elements_moved = tokens * elements;
  model.six_n = flop.six_n * tokens;
  model.six_n_attention = flop.six_n_attention * tokens;
  model.hardware = flop.hardware * tokens;
  model.untrained_loss = std::log(static_cast<double>(config.vocabulary));
  set_making<OwnModel>(model, config);
  return model;
}

}  // namespace duet
