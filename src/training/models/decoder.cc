#include "training/models/decoder.h"

#include <fmt/format.h>

#include <utility>

namespace duet {

Decoder::Decoder(Device& device, Operations& operations, Parameters parameters,
                 std::int64_t vocabulary, const DecoderShape& shape)
    : TokenModel(device, operations, std::move(parameters), vocabulary), shape_(shape) {}

NormTensors Decoder::lay_out_norm(const std::string& name, const Tensor& x) {
  const std::size_t weights = parameters_.find(name + ".weight");
  NormTensors norm;
  norm.x = x;
  norm.weight = weight(weights);
  norm.weight_gradient = gradient(weights);
  const auto add = [&](const char* what) {
    return memory_.add(MemoryUse::activations, name + what, 1, shape_.own_tokens());
  };
  if (shape_.rms_norm) {
    norm.inverse = add(" inverse rms");
    return norm;
  }
  const std::size_t biases = parameters_.find(name + ".bias");
  norm.bias = weight(biases);
  norm.bias_gradient = gradient(biases);
  norm.mean = add(" mean");
  norm.inverse = add(" inverse deviation");
  return norm;
}

Linear Decoder::lay_out_linear(const std::string& block, const std::string& linear, const Linear*) {
  const std::size_t index = parameters_.find(block + linear + ".weight");
  return {weight(index), gradient(index)};
}

// Linears into attention and the FFN have parts of their outputs on each rank, others of their
// inputs.
Linear Decoder::made_linear(const std::string& block, const std::string& linear,
                            const Linear* shared) {
  Linear made = lay_out_linear(block, linear, shared);
  if (!is_split()) return made;
  const bool inside = linear == "qkv" || linear == "ffn_in";
  made.split({inside ? SplitBy::outputs : SplitBy::inputs, exchange_, split_workspace_});
  return made;
}

Tensor Decoder::linear_input(const std::string& name, Tensor Block::*input, std::int64_t rows,
                             std::int64_t columns) {
  if (!shape_.linears_keep_inputs) return activation(name, rows, columns);
  return blocks_.empty() ? workspace(name, rows, columns) : blocks_.front().*input;
}

void Decoder::lay_out_blocks() {
  blocks_.clear();
  if (is_split()) {
    split_workspace_ = {workspace("gathered rows", shape_.tokens(), shape_.width),
                        workspace("partial sums", shape_.tokens(), shape_.width),
                        workspace("scattered rows", shape_.own_tokens(), shape_.width)};
  }
  if (has_experts()) {
    expert_workspace_ = lay_out_expert_workspace(memory_, shape_, parameters_.recipe().compute);
  }
  Tensor x = activation("embedded", shape_.own_tokens(), shape_.width);
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    blocks_.push_back(lay_out_block(layer, x));
    x = activation(fmt::format("block.{}.output", layer), shape_.own_tokens(), shape_.width);
  }
  norm_ = lay_out_norm("norm", x);
  normed_ = activation("normed", shape_.own_tokens(), shape_.width);
}

void Decoder::lay_out_losses(const std::string& token_table, std::int64_t piece) {
  if (!is_split()) return;
  const ModelParameter& about = parameters_.all()[parameters_.find(token_table)].about;
  const VocabularyPart part{about.part.ranges.front().first, about.part.rows};
  split_vocabulary_.emplace(memory_, shape_.shard, part, about.rows, piece);
}

void Decoder::lay_out_gradients() {
  const auto add = [&](const char* name, std::int64_t columns) {
    return workspace(name, shape_.tokens(), columns);
  };
  dresidual_ = workspace("residual gradient", shape_.own_tokens(), shape_.width);
  dnormed_ = workspace("norm gradient", shape_.own_tokens(), shape_.width);
  dqkv_ = add("qkv gradient", shape_.attention.qkv_width());
  dattended_ = add("attention gradient", shape_.attention.width());
  if (has_experts()) return;
  dffn_ = add(shape_.gates ? "FFN gradient" : "hidden gradient", shape_.ffn_width);
}

Decoder::Block Decoder::lay_out_block(std::int64_t layer, const Tensor& x) {
  const std::string name = fmt::format("block.{}.", layer);
  const auto linear = [&](const char* which, Recompute shared_from, Linear Block::*own) {
    return made_linear(name, which, is_shared(shared_from) ? &(blocks_.front().*own) : nullptr);
  };
  Block block;
  block.all = {
      parameters_.find(name + "norm_1.weight"),
      parameters_.find(name + (has_experts() ? "experts_out" : "ffn_out") + ".weight") + 1};
  block.qkv = linear("qkv", Recompute::attention, &Block::qkv);
  block.attention_out = linear("attention_out", Recompute::attention, &Block::attention_out);
  if (!has_experts()) {
    block.ffn_in = linear("ffn_in", Recompute::block, &Block::ffn_in);
    block.ffn_out = linear("ffn_out", Recompute::block, &Block::ffn_out);
  }
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
                     : activation(name + "middle", shape_.own_tokens(), shape_.width);
  block.norm_2 = lay_out_norm(name + "norm_2", block.middle);
  has_experts() ? lay_out_experts(block, name) : lay_out_ffn(block, name);
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
  const std::int64_t tokens = shape_.tokens(), own = shape_.own_tokens();
  block.normed_1 = linear_input(name + "normed_1", &Block::normed_1, own, shape_.width);
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
  const std::int64_t f = shape_.ffn_width, tokens = shape_.tokens();
  block.normed_2 =
      linear_input(name + "normed_2", &Block::normed_2, shape_.own_tokens(), shape_.width);
  block.hidden = shape_.gates ? activation(name + "gate_up", tokens, 2 * f)
                              : activation(name + "hidden", tokens, f);
  block.activated = linear_input(name + "activated", &Block::activated, tokens, f);
}

void Decoder::lay_out_experts(Block& block, const std::string& name) {
  const bool shared = is_shared(Recompute::block);
  block.normed_2 = shared ? blocks_.front().normed_2
                          : activation(name + "normed_2", shape_.own_tokens(), shape_.width);
  const ExpertActivations kept =
      shared ? first_experts_
             : lay_out_expert_activations(memory_, shape_, name, parameters_.recipe().compute);
  if (blocks_.empty()) first_experts_ = kept;
  const auto parameter = [&](const char* what) { return parameters_.find(name + what); };
  const std::size_t router = parameter("router.weight"), in = parameter("experts_in.weight"),
                    out = parameter("experts_out.weight");
  block.experts.emplace(shape_, exchange_, ExpertWeights{weight(router), weight(in), weight(out)},
                        ExpertWeights{gradient(router), gradient(in), gradient(out)},
                        expert_workspace_, kept);
}

const Tensor& Decoder::output_of(std::int64_t layer) const {
  const auto next = static_cast<std::size_t>(layer + 1);
  return next < blocks_.size() ? blocks_[next].norm_1.x : norm_.x;
}

void Decoder::begin_workspace(Stream& stream) {
  for (const Block& each : blocks_) {
    if (each.experts) each.experts->begin(operations_, stream);
  }
  if (!is_split()) return;
  for (const Tensor& each :
       {split_workspace_.gathered, split_workspace_.scattered, output_of(-1), dnormed_}) {
    operations_.run(stream, FillNormal{0, 0, 1, each});
  }
  split_vocabulary_->begin_workspace(operations_, stream);
}

void Decoder::embed(Stream& stream, const Tensor& token_table, const Tensor& positions) {
  const Embedding whole{tokens(), token_table, positions, output_of(-1)};
  if (!is_split()) return operations_.run(stream, whole);
  split_vocabulary_->embed(operations_, stream, whole, exchange_, split_workspace_);
}

void Decoder::embed_backward(Stream& stream, const Tensor& dtoken_table, const Tensor& dpositions,
                             Accumulate gradients) {
  const EmbeddingBackward whole{tokens(), dresidual_, dtoken_table, dpositions, gradients};
  if (!is_split()) return operations_.run(stream, whole);
  split_vocabulary_->embed_backward(operations_, stream, whole, exchange_, split_workspace_);
}

Tensor Decoder::head_input(Stream& stream) {
  if (!is_split()) return normed_;
  exchange_.gather(stream, normed_, split_workspace_.gathered, {});
  return split_workspace_.gathered;
}

const Tensor& Decoder::dhead_input() const {
  return is_split() ? split_workspace_.partial : dnormed_;
}

void Decoder::head_input_backward(Stream& stream) {
  if (is_split()) exchange_.scatter(stream, split_workspace_.partial, dnormed_, {});
}

void Decoder::piece_loss(Stream& stream, const CrossEntropyPiece& piece) {
  if (!is_split()) return operations_.run(stream, piece);
  split_vocabulary_->cross_entropy(operations_, stream, piece, exchange_);
}

void Decoder::batch_loss(Stream& stream, const Tensor& logits) {
  const CrossEntropy whole{logits, vocabulary(), targets(), row_losses(), loss()};
  if (!is_split()) return operations_.run(stream, whole);
  piece_loss(stream, whole.piece());
  operations_.run(stream, whole.mean());
}

void Decoder::forward_blocks(Stream& stream, const BlockBegins& begins) {
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    begins(blocks_[static_cast<std::size_t>(layer)].all);
    forward_block(stream, layer);
  }
  operations_.run(stream, Norm{norm_, normed_});
}

void Decoder::forward_block(Stream& stream, std::int64_t layer) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  attend(stream, b);
  b.attention_out.forward_add(operations_, stream, b.attention.out, b.norm_1.x, b.middle);
  if (b.experts) {
    operations_.run(stream, Norm{b.norm_2, b.normed_2});
    return b.experts->forward(operations_, stream, b.normed_2, b.middle, output_of(layer));
  }
  expand(stream, b);
  b.ffn_out.forward_add(operations_, stream, b.activated, b.middle, output_of(layer));
}

void Decoder::attend(Stream& stream, const Block& b) {
  operations_.run(stream, Norm{b.norm_1, b.normed_1});
  b.qkv.forward(operations_, stream, b.normed_1, b.projected);
  if (shape_.rotates) operations_.run(stream, Rotate{b.rotary, b.attention.qkv});
  operations_.run(stream, Attention{b.attention});
}

void Decoder::expand(Stream& stream, const Block& b) {
  operations_.run(stream, Norm{b.norm_2, b.normed_2});
  if (!shape_.gates) {
    return b.ffn_in.forward_gelu(operations_, stream, b.normed_2, b.hidden, b.activated);
  }
  b.ffn_in.forward(operations_, stream, b.normed_2, b.hidden);
  operations_.run(stream, SwiGlu{b.hidden, b.activated});
}

void Decoder::backward_blocks(Stream& stream, Accumulate gradients,
                              const GradientsComplete& complete, const BlockBegins& begins) {
  operations_.run(stream, NormBackward{norm_, dnormed_, dresidual_, Accumulate::no, gradients});
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
  b.attention_out.forward_add(operations_, stream, b.attention.out, b.norm_1.x, b.middle);
  if (b.experts) {
    operations_.run(stream, Norm{b.norm_2, b.normed_2});
    return b.experts->recompute(operations_, stream, b.normed_2);
  }
  expand(stream, b);
  b.ffn_out.keep(operations_, stream, b.activated);
}

// dresidual_ is the gradient of the block's output before, and of its input after.
void Decoder::backward_block(Stream& stream, const Block& b, Accumulate gradients) {
  backward_ffn(stream, b, gradients);
  operations_.run(stream, NormBackward{b.norm_2, dnormed_, dresidual_, Accumulate::yes, gradients});
  b.attention_out.backward(operations_, stream, dresidual_, b.attention.out, dattended_, gradients);
  operations_.run(stream, AttentionBackward{b.attention, dattended_, dqkv_});
  if (shape_.rotates) operations_.run(stream, RotateBackward{b.rotary, dqkv_, dqkv_, gradients});
  b.qkv.backward(operations_, stream, dqkv_, b.normed_1, dnormed_, gradients);
  operations_.run(stream, NormBackward{b.norm_1, dnormed_, dresidual_, Accumulate::yes, gradients});
}

void Decoder::backward_ffn(Stream& stream, const Block& b, Accumulate gradients) {
  if (b.experts) {
    return b.experts->backward(operations_, stream, dresidual_, b.normed_2, dnormed_, gradients);
  }
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
