#include "training/models/mlp.h"

#include <fmt/format.h>

#include <cmath>

namespace duet {
namespace {

std::string weight_name(std::size_t layer) { return fmt::format("linear.{}.weight", layer); }

// Of the deviation of PyTorch's linears, which begin uniform within 1 / sqrt(inputs).
std::vector<ModelParameter> parameters_of(const MlpConfig& config) {
  std::vector<ModelParameter> all;
  for (std::size_t i = 0; i + 1 < config.widths.size(); ++i) {
    const std::int64_t in = config.widths[i], out = config.widths[i + 1];
    const double deviation = 1 / std::sqrt(3 * static_cast<double>(in));
    all.push_back({weight_name(i), out, in, out, true, deviation, 0});
  }
  return all;
}

}  // namespace

MlpConfig study_mlp() { return {{4096, 8192, 8192, 4096}, 256}; }

Mlp::Mlp(const MlpConfig& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
         Operations& operations, const ModelShard& shard)
    : Model(device, operations, Parameters({parameters_of(config)}, recipe, optimizer, shard)),
      config_(config) {
  plan();
}

void Mlp::lay_out() {
  const std::int64_t batch = config_.batch;
  layers_.clear();
  Tensor x = activation("input", batch, config_.widths.front());
  for (std::size_t i = 0; i + 1 < config_.widths.size(); ++i) {
    const std::int64_t out = config_.widths[i + 1];
    Layer layer;
    layer.weight = parameters_.find(weight_name(i));
    layer.x = x;
    layer.y = activation(fmt::format("linear.{}.output", i), batch, out);
    layer.dy = workspace(fmt::format("linear.{}.gradient", i), batch, out);
    x = layer.y;
    layers_.push_back(layer);
  }
  targets_ = activation("targets", batch, config_.widths.back());
  row_losses_ = memory_.add(MemoryUse::input, "row losses", 1, batch);
}

void Mlp::make_random_input(Stream& stream, std::uint64_t batch) {
  operations_.run(stream, RandomElements{state(), 2 * batch, input()});
  operations_.run(stream, RandomElements{state(), 2 * batch + 1, targets_});
}

// ReLU in place: its result tells where its gradient is 0.
void Mlp::enqueue_forward(Stream& stream, const BlockBegins&) {
  for (const Layer& layer : layers_) {
    operations_.run(stream, LinearForward{layer.x, weight(layer.weight), layer.y});
    if (&layer != &layers_.back()) operations_.run(stream, Relu{layer.y, layer.y});
  }
}

void Mlp::evaluate(Stream& stream) {
  operations_.run(stream, MeanSquaredError{output(), targets_, row_losses_, loss()});
}

// The last layer's output has become its gradient; the input needs none.
void Mlp::enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                           const BlockBegins&) {
  evaluate(stream);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const Layer& layer = layers_[i];
    const Tensor& dy = i + 1 == layers_.size() ? layer.y : layer.dy;
    operations_.run(stream, LinearBackwardWeight{dy, layer.x, gradient(layer.weight), gradients});
    if (i > 0) {
      const Tensor& dx = layers_[i - 1].dy;
      operations_.run(stream, LinearBackwardInput{dy, weight(layer.weight), dx, Accumulate::no});
      operations_.run(stream, ReluBackward{layer.x, dx, dx});
    }
    complete({layer.weight, layer.weight + 1});
  }
}

ModelDescription describe(const MlpConfig& config) {
  const double count = static_cast<double>(count_of(parameters_of(config)));
  const double batch = static_cast<double>(config.batch);
  const double first = static_cast<double>(config.widths[0] * config.widths[1]);
  ModelDescription model;
  model.name = "mlp";
  model.axes = {{"batch", config.batch},
                {"layers", config.layers()},
                {"parameters", static_cast<std::int64_t>(count)}};
  model.cost.more = {{kSamples, batch}};
  model.cost.flop = (6 * count - 2 * first) * batch;
  model.trained_parameters = count;
  model.elements_moved = 4 * batch * static_cast<double>(config.widths.back());  // the loss's
  model.six_n = 6 * count * batch;
  model.hardware = model.cost.flop;
  model.untrained_loss = 1;  // targets are standard normal
  set_making<Mlp>(model, config);
  return model;
}

}  // namespace duet
