#include "training/models/decoder.h"

#include <fmt/format.h>

#include <utility>

namespace duet {

Decoder::Decoder(Device& device, Operations& operations, Parameters parameters,
                 std::int64_t vocabulary, const DecoderShape& shape)
    : TokenModel(device, operations, std::move(parameters), vocabulary), shape_(shape) {}

Norm Decoder::lay_out_norm(const std::string& name, const Tensor& x) {
  const std::size_t weights = parameters_.find(name + ".weight");
  const auto add = [&](const char* what) {
    return memory_.add(MemoryUse::activations, name + what, 1, tokens_of_step());
  };
  if (shape_.rms_norm) {
    return Norm(RmsNormTensors{x, weight(weights), add(" inverse rms"), gradient(weights)});
  }
  const std::size_t biases = parameters_.find(name + ".bias");
  const Tensor mean = add(" mean"), inverse_deviation = add(" inverse deviation");
  return Norm(NormTensors{x, weight(weights), weight(biases), mean, inverse_deviation,
                          gradient(weights), gradient(biases)});
}

Linear Decoder::lay_out_linear(const std::string& block, const std::string& linear, const Linear*) {
  const std::size_t index = parameters_.find(block + linear + ".weight");
  return {weight(index), gradient(index)};
}

Tensor Decoder::linear_input(const std::string& name, Tensor Block::*input, std::int64_t columns) {
  if (!shape_.linears_keep_inputs) return activation(name, tokens_of_step(), columns);
  return blocks_.empty() ? workspace(name, tokens_of_step(), columns) : blocks_.front().*input;
}

void Decoder::lay_out_blocks() {
  blocks_.clear();
  Tensor x = activation("embedded", tokens_of_step(), shape_.width);
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    blocks_.push_back(lay_out_block(layer, x));
    x = activation(fmt::format("block.{}.output", layer), tokens_of_step(), shape_.width);
  }
  norm_ = lay_out_norm("norm", x);
  normed_ = activation("normed", tokens_of_step(), shape_.width);
}

void Decoder::lay_out_gradients() {
  const auto add = [&](const char* name, std::int64_t columns) {
    return workspace(name, tokens_of_step(), columns);
  };
  dresidual_ = add("residual gradient", shape_.width);
  dnormed_ = add("norm gradient", shape_.width);
  dqkv_ = add("qkv gradient", shape_.attention.qkv_width());
  dattended_ = add("attention gradient", shape_.attention.width());
  dffn_ = add(shape_.gates ? "FFN gradient" : "hidden gradient", shape_.ffn_width);
}

Decoder::Block Decoder::lay_out_block(std::int64_t layer, const Tensor& x) {
  const std::string name = fmt::format("block.{}.", layer);
  const auto linear = [&](const char* which, Recompute shared_from, Linear Block::*own) {
    return lay_out_linear(name, which, is_shared(shared_from) ? &(blocks_.front().*own) : nullptr);
  };
  Block block;
  block.all = {parameters_.find(name + "norm_1.weight"),
               parameters_.find(name + "ffn_out.weight") + 1};
  block.qkv = linear("qkv", Recompute::attention, &Block::qkv);
  block.attention_out = linear("attention_out", Recompute::attention, &Block::attention_out);
  block.ffn_in = linear("ffn_in", Recompute::block, &Block::ffn_in);
  block.ffn_out = linear("ffn_out", Recompute::block, &Block::ffn_out);
  block.norm_1 = lay_out_norm(name + "norm_1", x);
  lay_out_attention(block, name);
  if (shape_.rotates) {
    const std::size_t q_norm = parameters_.find(name + "q_norm.weight"),
                      k_norm = parameters_.find(name + "k_norm.weight");
    block.rotary.q_weight = weight(q_norm);
    block.rotary.k_weight = weight(k_norm);
    block.rotary.q_weight_gradient = gradient(q_norm);
    block.rotary.k_weight_gradient = gradient(k_norm);
  }
  block.middle = is_shared(Recompute::block)
                     ? blocks_.front().middle
                     : activation(name + "middle", tokens_of_step(), shape_.width);
  block.norm_2 = lay_out_norm(name + "norm_2", block.middle);
  lay_out_ffn(block, name);
  return block;
}

void Decoder::lay_out_attention(Block& block, const std::string& name) {
  if (is_shared(Recompute::attention)) {
    const Block& first = blocks_.front();
    block.normed_1 = first.normed_1;
    block.projected = first.projected;
    block.rotary = first.rotary;
    block.attention = first.attention;
    return;
  }
  const AttentionShape& shape = shape_.attention;
  const std::int64_t tokens = tokens_of_step();
  block.normed_1 = linear_input(name + "normed_1", &Block::normed_1, shape_.width);
  block.projected = activation(name + "qkv", tokens, shape.qkv_width());
  Tensor attended_to = block.projected;
  if (shape_.rotates) {
    block.rotary.shape = shape;
    block.rotary.qkv = block.projected;
    block.rotary.inverse_rms = memory_.add(MemoryUse::activations, name + "heads' inverse rms",
                                           tokens, shape.heads + shape.key_heads());
    attended_to = activation(name + "rotated", tokens, shape.qkv_width());
  }
  const Tensor attended = activation(name + "attended", tokens, shape.width());
  block.attention = {shape, attended_to, attended,
                     memory_.add(MemoryUse::activations, name + "log sum exp",
                                 shape.batch * shape.heads, shape.tokens)};
}

void Decoder::lay_out_ffn(Block& block, const std::string& name) {
  if (is_shared(Recompute::block)) {
    block.normed_2 = blocks_.front().normed_2;
    block.hidden = blocks_.front().hidden;
    block.activated = blocks_.front().activated;
    return;
  }
  const std::int64_t f = shape_.ffn_width;
  block.normed_2 = linear_input(name + "normed_2", &Block::normed_2, shape_.width);
  block.hidden = shape_.gates ? activation(name + "gate_up", tokens_of_step(), 2 * f)
                              : activation(name + "hidden", tokens_of_step(), f);
  block.activated = linear_input(name + "activated", &Block::activated, f);
}

const Tensor& Decoder::output_of(std::int64_t layer) const {
  const auto next = static_cast<std::size_t>(layer + 1);
  return next < blocks_.size() ? blocks_[next].norm_1.x() : norm_.x();
}

void Decoder::forward_blocks(Stream& stream, const BlockBegins& begins) {
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    begins(blocks_[static_cast<std::size_t>(layer)].all);
    forward_block(stream, layer);
  }
  norm_.forward(operations_, stream, normed_);
}

void Decoder::forward_block(Stream& stream, std::int64_t layer) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  attend(stream, b);
  b.attention_out.forward_add(operations_, stream, b.attention.out, b.norm_1.x(), b.middle);
  expand(stream, b);
  b.ffn_out.forward_add(operations_, stream, b.activated, b.middle, output_of(layer));
}

void Decoder::attend(Stream& stream, const Block& b) {
  b.norm_1.forward(operations_, stream, b.normed_1);
  b.qkv.forward(operations_, stream, b.normed_1, b.projected);
  if (shape_.rotates) operations_.run(stream, Rotate{b.rotary, b.attention.qkv});
  operations_.run(stream, Attention{b.attention});
}

void Decoder::expand(Stream& stream, const Block& b) {
  b.norm_2.forward(operations_, stream, b.normed_2);
  if (!shape_.gates) {
    return b.ffn_in.forward_gelu(operations_, stream, b.normed_2, b.hidden, b.activated);
  }
  b.ffn_in.forward(operations_, stream, b.normed_2, b.hidden);
  operations_.run(stream, SwiGlu{b.hidden, b.activated});
}

void Decoder::backward_blocks(Stream& stream, Accumulate gradients,
                              const GradientsComplete& complete, const BlockBegins& begins) {
  norm_.backward(operations_, stream, dnormed_, dresidual_, Accumulate::no, gradients);
  complete({blocks_.back().all.last, parameters_.all().size()});
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    begins(block->all);
    recompute(stream, *block);
    backward_block(stream, *block, gradients);
    complete(block->all);
  }
}

// What the forward pass of later blocks has overwritten.
void Decoder::recompute(Stream& stream, const Block& b) {
  if (shape_.recompute != Recompute::none) attend(stream, b);
  if (shape_.recompute == Recompute::attention) {
    b.attention_out.keep(operations_, stream, b.attention.out);
  }
  if (shape_.recompute != Recompute::block) return;
  b.attention_out.forward_add(operations_, stream, b.attention.out, b.norm_1.x(), b.middle);
  expand(stream, b);
  b.ffn_out.keep(operations_, stream, b.activated);
}

// dresidual_ is the gradient of the block's output before, and of its input after.
void Decoder::backward_block(Stream& stream, const Block& b, Accumulate gradients) {
  backward_ffn(stream, b, gradients);
  b.norm_2.backward(operations_, stream, dnormed_, dresidual_, Accumulate::yes, gradients);
  b.attention_out.backward(operations_, stream, dresidual_, b.attention.out, dattended_, gradients);
  operations_.run(stream, AttentionBackward{b.attention, dattended_, dqkv_});
  if (shape_.rotates) operations_.run(stream, RotateBackward{b.rotary, dqkv_, dqkv_, gradients});
  b.qkv.backward(operations_, stream, dqkv_, b.normed_1, dnormed_, gradients);
  b.norm_1.backward(operations_, stream, dnormed_, dresidual_, Accumulate::yes, gradients);
}

void Decoder::backward_ffn(Stream& stream, const Block& b, Accumulate gradients) {
  if (!shape_.gates) {
    b.ffn_out.backward_gelu(operations_, stream, dresidual_, b.activated, b.hidden, dffn_,
                            gradients);
    return b.ffn_in.backward(operations_, stream, dffn_, b.normed_2, dnormed_, gradients);
  }
  b.ffn_out.backward(operations_, stream, dresidual_, b.activated, dffn_, gradients);
  operations_.run(stream, SwiGluBackward{b.hidden, dffn_, b.hidden});
  b.ffn_in.backward(operations_, stream, b.hidden, b.normed_2, dnormed_, gradients);
}

}  // namespace duet
