#include "training/models/gpt.h"

#include <fmt/format.h>

namespace duet {
Gpt::Gpt(const GptConfig& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
         Operations& operations, const std::optional<Shard>& shard)
    : TokenModel(device, operations,
                 Parameters(with_blocks(duet::parameters(config)), recipe, optimizer, shard),
                 config.vocabulary),
      config_(config),
      token_table_(parameters_.find("token_table")),
      position_table_(parameters_.find("position_table")) {
  plan();
}

NormTensors Gpt::lay_out_norm(const std::string& name, const Tensor& x) {
  const std::size_t weights = parameters_.find(name + ".weight"),
                    biases = parameters_.find(name + ".bias");
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

void Gpt::lay_out() {
  const std::int64_t tokens = config_.tokens(), d = config_.width;
  lay_out_tokens(tokens);
  blocks_.clear();
  Tensor x = activation("embedded", tokens, d);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    blocks_.push_back(lay_out_block(layer, x));
    x = activation(fmt::format("block.{}.output", layer), tokens, d);
  }
  norm_ = lay_out_norm("norm", x);
  normed_ = activation("normed", tokens, d);
  logits_ = activation("logits", tokens, weight(token_table_).rows);
  dresidual_ = workspace("residual gradient", tokens, d);
  dnormed_ = workspace("norm gradient", tokens, d);
  dqkv_ = workspace("qkv gradient", tokens, 3 * d);
  dattended_ = workspace("attention gradient", tokens, d);
  dhidden_ = workspace("hidden gradient", tokens, config_.ffn_width);
}

Gpt::Block Gpt::lay_out_block(std::int64_t layer, const Tensor& x) {
  const std::string name = fmt::format("block.{}.", layer);
  Block block;
  block.all = {parameters_.find(name + "norm_1.weight"),
               parameters_.find(name + "ffn_out.weight") + 1};
  block.qkv = parameters_.find(name + "qkv.weight");
  block.attention_out = parameters_.find(name + "attention_out.weight");
  block.ffn_in = parameters_.find(name + "ffn_in.weight");
  block.ffn_out = parameters_.find(name + "ffn_out.weight");
  block.norm_1 = lay_out_norm(name + "norm_1", x);
  lay_out_attention(block, name);
  if (is_shared(Recompute::block)) {
    block.middle = blocks_.front().middle;
  } else {
    block.middle = activation(name + "middle", config_.tokens(), config_.width);
  }
  block.norm_2 = lay_out_norm(name + "norm_2", block.middle);
  lay_out_ffn(block, name);
  return block;
}

void Gpt::lay_out_attention(Block& block, const std::string& name) {
  if (is_shared(Recompute::attention)) {
    block.normed_1 = blocks_.front().normed_1;
    block.attention = blocks_.front().attention;
    return;
  }
  const std::int64_t tokens = config_.tokens(), d = config_.width;
  block.normed_1 = activation(name + "normed_1", tokens, d);
  block.attention = {{config_.batch, config_.sequence, config_.heads, config_.head_width()},
                     activation(name + "qkv", tokens, 3 * d),
                     activation(name + "attended", tokens, d),
                     memory_.add(MemoryUse::activations, name + "log sum exp",
                                 config_.batch * config_.heads, config_.sequence)};
}

void Gpt::lay_out_ffn(Block& block, const std::string& name) {
  if (is_shared(Recompute::block)) {
    block.normed_2 = blocks_.front().normed_2;
    block.hidden = blocks_.front().hidden;
    block.activated = blocks_.front().activated;
    return;
  }
  const std::int64_t tokens = config_.tokens(), f = config_.ffn_width;
  block.normed_2 = activation(name + "normed_2", tokens, config_.width);
  block.hidden = activation(name + "hidden", tokens, f);
  block.activated = activation(name + "activated", tokens, f);
}

const Tensor& Gpt::output_of(std::int64_t layer) const {
  const auto next = static_cast<std::size_t>(layer + 1);
  return next < blocks_.size() ? blocks_[next].norm_1.x : norm_.x;
}

void Gpt::enqueue_forward(Stream& stream, const BlockBegins& begins) {
  operations_.run(
      stream, Embedding{tokens(), weight(token_table_), weight(position_table_), output_of(-1)});
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    begins(blocks_[static_cast<std::size_t>(layer)].all);
    forward_block(stream, layer);
  }
  operations_.run(stream, LayerNorm{norm_, normed_});
}

void Gpt::evaluate(Stream& stream) {
  operations_.run(stream, LinearForward{normed_, weight(token_table_), logits_});
  operations_.run(stream,
                  CrossEntropy{logits_, config_.vocabulary, targets(), row_losses(), loss()});
}

Tensor Gpt::next_logits(Stream& stream, std::int64_t row) {
  const Tensor logits = row_of(logits_, 0);
  operations_.run(stream, LinearForward{row_of(normed_, row), weight(token_table_), logits});
  return logits;
}

// middle = x + attention(norm_1(x)) W, output = middle + gelu(norm_2(middle) W) W.
void Gpt::forward_block(Stream& stream, std::int64_t layer) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  attend(stream, b);
  operations_.run(stream,
                  LinearAdd{b.attention.out, weight(b.attention_out), b.norm_1.x, b.middle});
  expand(stream, b);
  operations_.run(stream, LinearAdd{b.activated, weight(b.ffn_out), b.middle, output_of(layer)});
}

void Gpt::attend(Stream& stream, const Block& b) {
  operations_.run(stream, LayerNorm{b.norm_1, b.normed_1});
  operations_.run(stream, LinearForward{b.normed_1, weight(b.qkv), b.attention.qkv});
  operations_.run(stream, Attention{b.attention});
}

void Gpt::expand(Stream& stream, const Block& b) {
  operations_.run(stream, LayerNorm{b.norm_2, b.normed_2});
  operations_.run(stream, LinearGelu{b.normed_2, weight(b.ffn_in), b.hidden, b.activated});
}

void Gpt::enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                           const BlockBegins& begins) {
  evaluate(stream);  // leaves the logits' gradient in their place
  operations_.run(stream,
                  LinearBackwardWeight{logits_, normed_, gradient(token_table_), gradients});
  operations_.run(stream,
                  LinearBackwardInput{logits_, weight(token_table_), dnormed_, Accumulate::no});
  operations_.run(stream,
                  LayerNormBackward{norm_, dnormed_, dresidual_, Accumulate::no, gradients});
  complete({blocks_.back().all.last, parameters_.all().size()});
  for (std::int64_t layer = config_.layers - 1; layer >= 0; --layer) {
    const ParameterRange& block = blocks_[static_cast<std::size_t>(layer)].all;
    begins(block);
    backward_block(stream, layer, gradients);
    complete(block);
  }
  operations_.run(stream, EmbeddingBackward{tokens(), dresidual_, gradient(token_table_),
                                            gradient(position_table_), gradients});
  complete({0, blocks_.front().all.first});
}

// dresidual_ is the gradient of the block's output before, and of its input after.
void Gpt::backward_block(Stream& stream, std::int64_t layer, Accumulate gradients) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  if (config_.recompute != Recompute::none) attend(stream, b);
  if (config_.recompute == Recompute::block) {
    operations_.run(stream,
                    LinearAdd{b.attention.out, weight(b.attention_out), b.norm_1.x, b.middle});
    expand(stream, b);
  }
  const auto into_weight = [&](const Tensor& dy, const Tensor& x, std::size_t index) {
    operations_.run(stream, LinearBackwardWeight{dy, x, gradient(index), gradients});
  };
  into_weight(dresidual_, b.activated, b.ffn_out);
  operations_.run(stream, LinearBackwardGelu{dresidual_, weight(b.ffn_out), b.hidden, dhidden_});
  into_weight(dhidden_, b.normed_2, b.ffn_in);
  operations_.run(stream,
                  LinearBackwardInput{dhidden_, weight(b.ffn_in), dnormed_, Accumulate::no});
  operations_.run(stream,
                  LayerNormBackward{b.norm_2, dnormed_, dresidual_, Accumulate::yes, gradients});
  into_weight(dresidual_, b.attention.out, b.attention_out);
  operations_.run(
      stream, LinearBackwardInput{dresidual_, weight(b.attention_out), dattended_, Accumulate::no});
  operations_.run(stream, AttentionBackward{b.attention, dattended_, dqkv_});
  into_weight(dqkv_, b.normed_1, b.qkv);
  operations_.run(stream, LinearBackwardInput{dqkv_, weight(b.qkv), dnormed_, Accumulate::no});
  operations_.run(stream,
                  LayerNormBackward{b.norm_1, dnormed_, dresidual_, Accumulate::yes, gradients});
}

// Per token: two norms read and write d, their backward passes read x, dy and dx and write dx; the
// loss reads and writes the logits; embeddings and the last norm.
ModelDescription describe(const GptConfig& config) {
  const double d = static_cast<double>(config.width);
  const double elements = static_cast<double>(config.layers) * 12 * d +
                          2 * static_cast<double>(config.vocabulary) + 7 * d;
  return describe_token_model<Gpt>(config, config.name, elements);
}

TokenModelDescription describe_for_text(const GptConfig& c) {
  const auto text = [](std::int64_t value) { return fmt::format("{}", value); };
  TokenModelDescription description =
      describe_sizes_for_text<Gpt>(c, {{"layers", text(c.layers)},
                                       {"heads", text(c.heads)},
                                       {"width", text(c.width)},
                                       {"FFN width", text(c.ffn_width)}});
  description.steps = c.steps;
  description.learning_rate = c.learning_rate;
  return description;
}

}  // namespace duet
