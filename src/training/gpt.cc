#include "training/gpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace duet {
namespace {

constexpr double kDeviation = 0.02;  // GPT-2's initialisation
constexpr double kInitialisingSeconds = 120;

constexpr std::int64_t kParameterElements =
    128;  // parameters begin at multiples: 256 bytes of bf16

std::int64_t rounded_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// A matrix within a flat tensor; without memory while the flat one has none.
Tensor part(const Tensor& flat, std::int64_t first, std::int64_t rows, std::int64_t columns) {
  Tensor tensor{{}, rows, columns, flat.dtype};
  if (flat.span.bytes == 0) return tensor;
  const std::uint64_t offset = static_cast<std::uint64_t>(first) * size_of(flat.dtype);
  tensor.span = flat.span.slice(offset, tensor.bytes());
  return tensor;
}

bool ends_with(const std::string& text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

Gpt::Gpt(const GptConfig& config, const Recipe& recipe, Device& device, Operations& operations)
    : config_(config), recipe_(recipe), device_(device), operations_(operations) {
  lay_out();
  memory_.allocate(device);
  lay_out();
}

void Gpt::lay_out() {
  parameters_.clear();
  groups_.clear();
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
  for (const ModelParameter& each : duet::parameters(config_)) parameters_.push_back({each, {}});
  token_table_ = find("token_table");
  position_table_ = find("position_table");
  lay_out_group(true);
  lay_out_group(false);
}

void Gpt::lay_out_group(bool decays) {
  const auto rows_of = [&](const TrainedParameter& each) {
    const bool tokens = &each == &parameters_[token_table_];
    return tokens ? rounded_up(each.about.rows, kVocabularyRows) : each.about.rows;
  };
  std::int64_t count = 0;
  for (const TrainedParameter& each : parameters_) {
    if (each.about.decays != decays) continue;
    count += rounded_up(rows_of(each) * each.about.columns, kParameterElements);
  }
  const auto add = [&](MemoryUse use, const char* name, DType dtype) {
    return memory_.add(use, name, 1, count, dtype);
  };
  AdamWTensors all{add(MemoryUse::parameters, "parameters", recipe_.compute),
                   add(MemoryUse::gradients, "gradients", recipe_.gradients),
                   add(MemoryUse::optimizer_states, "first moments", recipe_.moments),
                   add(MemoryUse::optimizer_states, "second moments", recipe_.moments),
                   {}};
  if (recipe_.master) all.master = add(MemoryUse::optimizer_states, "master", DType::fp32);
  std::int64_t first = 0;
  for (TrainedParameter& each : parameters_) {
    if (each.about.decays != decays) continue;
    const std::int64_t rows = rows_of(each), columns = each.about.columns;
    const auto own = [&](const Tensor& flat) { return part(flat, first, rows, columns); };
    each.tensors = {own(all.parameters),
                    own(all.gradients),
                    own(all.first_moments),
                    own(all.second_moments),
                    {}};
    if (recipe_.master) each.tensors.master = own(all.master);
    first += rounded_up(rows * columns, kParameterElements);
  }
  groups_.push_back({decays, all});
}

std::size_t Gpt::find(const std::string& name) const {
  const auto same = [&](const TrainedParameter& each) { return each.about.name == name; };
  return static_cast<std::size_t>(std::find_if(parameters_.begin(), parameters_.end(), same) -
                                  parameters_.begin());
}

Tensor Gpt::activation(const std::string& name, std::int64_t columns) {
  return memory_.add(MemoryUse::activations, name, config_.tokens(), columns, recipe_.compute);
}

Tensor Gpt::workspace(const std::string& name, std::int64_t columns) {
  return memory_.add(MemoryUse::workspace, name, config_.tokens(), columns, recipe_.compute);
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
  logits_ = activation("logits", weight(token_table_).rows);
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

void Gpt::initialise(std::uint64_t seed) {
  const auto stream = device_.make_stream();
  for (const MemoryUse use :
       {MemoryUse::parameters, MemoryUse::gradients, MemoryUse::optimizer_states}) {
    stream->fill(memory_.span(use), {FillKind::constant, 0});
  }
  for (const TrainedParameter& each : parameters_) {
    initialise(*stream, each, ++seed, each.tensors.parameters);
    if (recipe_.master) initialise(*stream, each, seed, each.tensors.master);
  }
  stream->synchronize(kInitialisingSeconds);
}

void Gpt::initialise(Stream& stream, const TrainedParameter& parameter, std::uint64_t seed,
                     const Tensor& tensor) {
  const ModelParameter& about = parameter.about;
  if (!about.decays) {
    operations_.fill_value(stream, ends_with(about.name, ".weight") ? 1 : 0, tensor);
    return;
  }
  const bool residual =
      ends_with(about.name, "attention_out.weight") || ends_with(about.name, "ffn_out.weight");
  const double layers = static_cast<double>(config_.layers);
  const double deviation = residual ? kDeviation / std::sqrt(2 * layers) : kDeviation;
  operations_.fill_normal(stream, seed, deviation,
                          part(tensor, 0, about.rows, about.columns));  // without further rows
}

void Gpt::begin_random_step(Stream& stream) {
  operations_.advance(stream, state_.span);
  operations_.random_tokens(stream, state_.span, config_.vocabulary, 0, tokens_);
  operations_.random_tokens(stream, state_.span, config_.vocabulary, 1, targets_);
}

void Gpt::forward(Stream& stream) {
  operations_.embedding(stream, tokens_, weight(token_table_), weight(position_table_), output(-1));
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) forward(stream, layer);
  operations_.layer_norm(stream, norm_, normed_);
  operations_.linear(stream, normed_, weight(token_table_), logits_);
  operations_.cross_entropy(stream, logits_, config_.vocabulary, targets_, row_losses_, loss_);
}

// middle = x + attention(norm_1(x)) W, output = middle + gelu(norm_2(middle) W) W.
void Gpt::forward(Stream& stream, std::int64_t layer) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  operations_.layer_norm(stream, b.norm_1, b.normed_1);
  operations_.linear(stream, b.normed_1, weight(b.qkv), b.attention.qkv);
  operations_.attention(stream, b.attention);
  operations_.linear_add(stream, b.attention.out, weight(b.attention_out), b.norm_1.x, b.middle);
  operations_.layer_norm(stream, b.norm_2, b.normed_2);
  operations_.linear(stream, b.normed_2, weight(b.ffn_in), b.hidden);
  operations_.gelu(stream, b.hidden, b.activated);
  operations_.linear_add(stream, b.activated, weight(b.ffn_out), b.middle, output(layer));
}

void Gpt::backward(Stream& stream, Accumulate gradients) {
  operations_.linear_backward_weight(stream, logits_, normed_, gradient(token_table_), gradients);
  operations_.linear_backward_input(stream, logits_, weight(token_table_), dnormed_);
  operations_.layer_norm_backward(stream, norm_, dnormed_, dresidual_, Accumulate::no, gradients);
  for (std::int64_t layer = config_.layers - 1; layer >= 0; --layer) {
    backward(stream, layer, gradients);
  }
  operations_.embedding_backward(stream, tokens_, dresidual_, gradient(token_table_),
                                 gradient(position_table_), gradients);
}

// dresidual_ is the gradient of the block's output before, and of its input after.
void Gpt::backward(Stream& stream, std::int64_t layer, Accumulate gradients) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  const auto into_weight = [&](const Tensor& dy, const Tensor& x, std::size_t index) {
    operations_.linear_backward_weight(stream, dy, x, gradient(index), gradients);
  };
  into_weight(dresidual_, b.activated, b.ffn_out);
  operations_.linear_backward_input(stream, dresidual_, weight(b.ffn_out), dhidden_);
  operations_.gelu_backward(stream, b.hidden, dhidden_, dhidden_);
  into_weight(dhidden_, b.normed_2, b.ffn_in);
  operations_.linear_backward_input(stream, dhidden_, weight(b.ffn_in), dnormed_);
  operations_.layer_norm_backward(stream, b.norm_2, dnormed_, dresidual_, Accumulate::yes,
                                  gradients);
  into_weight(dresidual_, b.attention.out, b.attention_out);
  operations_.linear_backward_input(stream, dresidual_, weight(b.attention_out), dattended_);
  operations_.attention_backward(stream, b.attention, dattended_, dqkv_);
  into_weight(dqkv_, b.normed_1, b.qkv);
  operations_.linear_backward_input(stream, dqkv_, weight(b.qkv), dnormed_);
  operations_.layer_norm_backward(stream, b.norm_1, dnormed_, dresidual_, Accumulate::yes,
                                  gradients);
}

void Gpt::update(Stream& stream, const AdamWOptions& options) {
  for (const Group& group : groups_) {
    AdamWOptions own = options;
    if (!group.decays) own.weight_decay = 0;
    operations_.adamw(stream, own, state_.span, group.tensors);
  }
}

}  // namespace duet
