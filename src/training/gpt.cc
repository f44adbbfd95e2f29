#include "training/gpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr double kDeviation = 0.02;  // GPT-2's initialisation
constexpr double kDeadlineSeconds = 120;

bool ends_with(const std::string& text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

Gpt::Gpt(const GptConfig& config, Device& device, Operations& operations)
    : config_(config), device_(device), operations_(operations) {
  lay_out();
  memory_.allocate(device);
  lay_out();
}

void Gpt::lay_out() {
  parameters_.clear();
  blocks_.clear();
  const std::int64_t tokens = config_.tokens();
  tokens_ = memory_.add(MemoryUse::input, "tokens", 1, tokens, DType::int32);
  targets_ = memory_.add(MemoryUse::input, "targets", 1, tokens, DType::int32);
  row_losses_ = memory_.add(MemoryUse::input, "row losses", 1, tokens);
  loss_ = memory_.add(MemoryUse::input, "loss", 1, 1);
  state_ = memory_.add(MemoryUse::input, "step state", 1, sizeof(StepState), DType::int8);
  lay_out_parameters();
  lay_out_activations();
}

void Gpt::lay_out_parameters() {
  for (const ModelParameter& each : duet::parameters(config_)) {
    const auto add = [&](MemoryUse use, const char* ending) {
      return memory_.add(use, each.name + ending, each.rows, each.columns);
    };
    parameters_.push_back({each,
                           {add(MemoryUse::parameters, ""), add(MemoryUse::gradients, " gradient"),
                            add(MemoryUse::optimizer_states, " first moments"),
                            add(MemoryUse::optimizer_states, " second moments")}});
  }
  token_table_ = find("token_table");
  position_table_ = find("position_table");
}

std::size_t Gpt::find(const std::string& name) const {
  const auto same = [&](const TrainedParameter& each) { return each.about.name == name; };
  return static_cast<std::size_t>(std::find_if(parameters_.begin(), parameters_.end(), same) -
                                  parameters_.begin());
}

Tensor Gpt::activation(const std::string& name, std::int64_t columns) {
  return memory_.add(MemoryUse::activations, name, config_.tokens(), columns);
}

Tensor Gpt::workspace(const std::string& name, std::int64_t columns) {
  return memory_.add(MemoryUse::workspace, name, config_.tokens(), columns);
}

NormTensors Gpt::lay_out_norm(const std::string& name, const Tensor& x) {
  const std::size_t weights = find(name + ".weight"), biases = find(name + ".bias");
  NormTensors norm;
  norm.x = x;
  norm.weight = weight(weights);
  norm.bias = weight(biases);
  norm.weight_gradient = gradient(weights);
  norm.bias_gradient = gradient(biases);
  norm.mean = memory_.add(MemoryUse::activations, name + " mean", 1, config_.tokens());
  norm.inverse_deviation =
      memory_.add(MemoryUse::activations, name + " inverse deviation", 1, config_.tokens());
  return norm;
}

void Gpt::lay_out_activations() {
  const std::int64_t d = config_.width, f = config_.ffn_width;
  Tensor x = activation("embedded", d);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    const std::string name = fmt::format("block.{}.", layer);
    Block block;
    block.qkv = find(name + "qkv.weight");
    block.attention_out = find(name + "attention_out.weight");
    block.ffn_in = find(name + "ffn_in.weight");
    block.ffn_out = find(name + "ffn_out.weight");
    block.norm_1 = lay_out_norm(name + "norm_1", x);
    block.normed_1 = activation(name + "normed_1", d);
    block.attention = {{config_.batch, config_.sequence, config_.heads, config_.head_width()},
                       activation(name + "qkv", 3 * d),
                       activation(name + "attended", d),
                       memory_.add(MemoryUse::activations, name + "log sum exp",
                                   config_.batch * config_.heads, config_.sequence)};
    block.middle = activation(name + "middle", d);
    block.norm_2 = lay_out_norm(name + "norm_2", block.middle);
    block.normed_2 = activation(name + "normed_2", d);
    block.hidden = activation(name + "hidden", f);
    block.activated = activation(name + "activated", f);
    x = activation(name + "output", d);
    blocks_.push_back(block);
  }
  norm_ = lay_out_norm("norm", x);
  normed_ = activation("normed", d);
  logits_ = activation("logits", config_.vocabulary);
  dresidual_ = workspace("residual gradient", d);
  dnormed_ = workspace("norm gradient", d);
  dqkv_ = workspace("qkv gradient", 3 * d);
  dattended_ = workspace("attention gradient", d);
  dhidden_ = workspace("hidden gradient", f);
}

const Tensor& Gpt::output(std::int64_t layer) const {
  const auto next = static_cast<std::size_t>(layer + 1);
  return next < blocks_.size() ? blocks_[next].norm_1.x : norm_.x;
}

std::vector<float> Gpt::initial_values(const ModelParameter& about, std::uint64_t seed) const {
  std::vector<float> values(static_cast<std::size_t>(about.count()), 0.0f);
  if (!about.decays) {
    if (ends_with(about.name, ".weight")) std::fill(values.begin(), values.end(), 1.0f);
    return values;
  }
  const bool residual =
      ends_with(about.name, "attention_out.weight") || ends_with(about.name, "ffn_out.weight");
  const double layers = static_cast<double>(config_.layers);
  const double deviation = residual ? kDeviation / std::sqrt(2 * layers) : kDeviation;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(deviation * static_cast<double>(random_normal(seed, i)));
  }
  return values;
}

void Gpt::initialise(std::uint64_t seed) {
  const auto stream = device_.make_stream();
  for (const MemoryUse use : {MemoryUse::gradients, MemoryUse::optimizer_states}) {
    stream->fill(memory_.span(use), {FillKind::constant, 0});
  }
  stream->synchronize(kDeadlineSeconds);
  if (!device_.has_contents(memory_.span(MemoryUse::parameters))) return;
  for (const TrainedParameter& each : parameters_) {
    device_.write(each.tensors.parameters.span, initial_values(each.about, ++seed).data());
  }
}

void Gpt::begin_random_step(Stream& stream) {
  operations_.advance(stream, state_.span);
  operations_.random_tokens(stream, state_.span, config_.vocabulary, 0, tokens_);
  operations_.random_tokens(stream, state_.span, config_.vocabulary, 1, targets_);
}

void Gpt::zero_gradients(Stream& stream) {
  stream.fill(memory_.span(MemoryUse::gradients), {FillKind::constant, 0});
}

void Gpt::forward(Stream& stream) {
  operations_.embedding(stream, tokens_, weight(token_table_), weight(position_table_), output(-1));
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) forward(stream, layer);
  operations_.layer_norm(stream, norm_, normed_);
  operations_.linear(stream, normed_, weight(token_table_), logits_, Accumulate::no);
  operations_.cross_entropy(stream, logits_, config_.vocabulary, targets_, row_losses_, loss_);
}

// middle = x + attention(norm_1(x)) W, output = middle + gelu(norm_2(middle) W) W.
void Gpt::forward(Stream& stream, std::int64_t layer) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  operations_.layer_norm(stream, b.norm_1, b.normed_1);
  operations_.linear(stream, b.normed_1, weight(b.qkv), b.attention.qkv, Accumulate::no);
  operations_.attention(stream, b.attention);
  stream.copy({b.middle.span, b.norm_1.x.span, Executor::kernel, {}});
  operations_.linear(stream, b.attention.out, weight(b.attention_out), b.middle, Accumulate::yes);
  operations_.layer_norm(stream, b.norm_2, b.normed_2);
  operations_.linear(stream, b.normed_2, weight(b.ffn_in), b.hidden, Accumulate::no);
  operations_.gelu(stream, b.hidden, b.activated);
  stream.copy({output(layer).span, b.middle.span, Executor::kernel, {}});
  operations_.linear(stream, b.activated, weight(b.ffn_out), output(layer), Accumulate::yes);
}

void Gpt::backward(Stream& stream) {
  operations_.linear_backward_weight(stream, logits_, normed_, gradient(token_table_));
  operations_.linear_backward_input(stream, logits_, weight(token_table_), dnormed_);
  operations_.layer_norm_backward(stream, norm_, dnormed_, dresidual_, Accumulate::no);
  for (std::int64_t layer = config_.layers - 1; layer >= 0; --layer) backward(stream, layer);
  operations_.embedding_backward(stream, tokens_, dresidual_, gradient(token_table_),
                                 gradient(position_table_));
}

// dresidual_ is the gradient of the block's output before, and of its input after.
void Gpt::backward(Stream& stream, std::int64_t layer) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  operations_.linear_backward_weight(stream, dresidual_, b.activated, gradient(b.ffn_out));
  operations_.linear_backward_input(stream, dresidual_, weight(b.ffn_out), dhidden_);
  operations_.gelu_backward(stream, b.hidden, dhidden_, dhidden_);
  operations_.linear_backward_weight(stream, dhidden_, b.normed_2, gradient(b.ffn_in));
  operations_.linear_backward_input(stream, dhidden_, weight(b.ffn_in), dnormed_);
  operations_.layer_norm_backward(stream, b.norm_2, dnormed_, dresidual_, Accumulate::yes);
  operations_.linear_backward_weight(stream, dresidual_, b.attention.out,
                                     gradient(b.attention_out));
  operations_.linear_backward_input(stream, dresidual_, weight(b.attention_out), dattended_);
  operations_.attention_backward(stream, b.attention, dattended_, dqkv_);
  operations_.linear_backward_weight(stream, dqkv_, b.normed_1, gradient(b.qkv));
  operations_.linear_backward_input(stream, dqkv_, weight(b.qkv), dnormed_);
  operations_.layer_norm_backward(stream, b.norm_1, dnormed_, dresidual_, Accumulate::yes);
}

void Gpt::update(Stream& stream, const AdamWOptions& options) {
  AdamWOptions undecayed = options;
  undecayed.weight_decay = 0;
  for (const TrainedParameter& each : parameters_) {
    operations_.adamw(stream, each.about.decays ? options : undecayed, state_.span, each.tensors);
  }
}

}  // namespace duet
