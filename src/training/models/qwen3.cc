#include "training/models/qwen3.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "training/models/lora_folder.h"
#include "training/models/qwen3_folder.h"

namespace duet {
namespace {

// Tokens whose logits are held at a time: 0.3 GB in bf16 of 151,936 tokens.
constexpr std::int64_t kPieceTokens = 1024;

// Rows [first, first + count), or elements of a tensor of one row.
Tensor rows_of(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t columns = tensor.rows == 1 ? 1 : tensor.columns;
  Tensor part{{}, tensor.rows == 1 ? 1 : count, tensor.rows == 1 ? count : columns, tensor.dtype};
  const std::uint64_t offset = static_cast<std::uint64_t>(first * columns) * size_of(tensor.dtype);
  part.span = tensor.span.slice(offset, part.bytes());
  return part;
}

}  // namespace

Qwen3::Qwen3(const Qwen3Config& config, const Recipe& recipe, const Optimizer& optimizer,
             Device& device, Operations& operations, const std::optional<Shard>& shard)
    : TokenModel(device, operations,
                 Parameters(with_blocks(duet::parameters(config)), recipe, optimizer, shard),
                 config.vocabulary),
      config_(config),
      token_table_(parameters_.find("token_table")),
      head_(parameters_.find("head.weight")) {
  plan();
}

RmsNormTensors Qwen3::lay_out_norm(const std::string& name, const Tensor& x) {
  const std::size_t weights = parameters_.find(name + ".weight");
  const Tensor inverse_rms =
      memory_.add(MemoryUse::activations, name + " inverse rms", 1, config_.tokens());
  return {x, weight(weights), inverse_rms, gradient(weights)};
}

Linear Qwen3::lay_out_linear(const std::string& block, const std::string& linear,
                             const Linear* shared) {
  const std::size_t index = parameters_.find(block + linear + ".weight");
  AdapterTensors adapter;
  adapter.parts = adapted_parts_of(config_, linear);
  if (!adapter.parts.empty()) {
    const std::size_t a = index - 2, b = index - 1;
    adapter.scale = config_.lora.scale();
    adapter.a = weight(a);
    adapter.b = weight(b);
    adapter.a_gradient = gradient(a);
    adapter.b_gradient = gradient(b);
    adapter.reduced = activation(block + linear + " reduced", config_.tokens(), adapter.a.rows);
    adapter.reduced_gradient =
        workspace(linear + " reduced gradient", config_.tokens(), adapter.a.rows);
  }
  Linear made(weight(index), gradient(index), std::move(adapter));
  if (parameters_.recipe().fp8) made.quantise(quantised_linear(block + linear, index, shared));
  return made;
}

QuantisedLinear Qwen3::quantised_linear(const std::string& name, std::size_t weight_index,
                                        const Linear* shared) {
  const std::int64_t in = is_frozen() ? 0 : weight(weight_index).columns;
  const QuantisedInput kept = shared != nullptr
                                  ? shared->quantised()->kept()
                                  : lay_out_quantised_input(memory_, name, in, config_.tokens());
  const Tensor magnitude = memory_.add(MemoryUse::activations, name + " magnitude", 1, 1);
  return {kept, magnitude, quantised_, parameters_.recipe().fp8_gradients};
}

// Each linear of a block has the width on one side.
void Qwen3::lay_out_quantised() {
  if (!parameters_.recipe().fp8) return;
  const std::int64_t other = std::max(
      {config_.attention().qkv_width(), config_.attention().width(), 2 * config_.ffn_width});
  quantised_ = duet::lay_out_quantised(memory_, config_.tokens(), std::max(other, config_.width),
                                       other * config_.width);
}

Tensor Qwen3::linear_input(const std::string& name, Tensor Block::*input, std::int64_t columns) {
  if (!parameters_.recipe().fp8 || is_frozen()) return activation(name, config_.tokens(), columns);
  return blocks_.empty() ? workspace(name, config_.tokens(), columns) : blocks_.front().*input;
}

void Qwen3::lay_out() {
  const std::int64_t tokens = config_.tokens(), d = config_.width;
  lay_out_tokens(tokens);
  lay_out_quantised();
  blocks_.clear();
  Tensor x = activation("embedded", tokens, d);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    blocks_.push_back(lay_out_block(layer, x));
    x = activation(fmt::format("block.{}.output", layer), tokens, d);
  }
  norm_ = lay_out_norm("norm", x);
  normed_ = activation("normed", tokens, d);
  logits_ = workspace("logits", std::min(tokens, kPieceTokens), weight(head_).rows);
  dresidual_ = workspace("residual gradient", tokens, d);
  dnormed_ = workspace("norm gradient", tokens, d);
  dqkv_ = workspace("qkv gradient", tokens, config_.attention().qkv_width());
  dattended_ = workspace("attention gradient", tokens, config_.attention().width());
  dactivated_ = workspace("FFN gradient", tokens, config_.ffn_width);
}

Qwen3::Block Qwen3::lay_out_block(std::int64_t layer, const Tensor& x) {
  const std::string name = fmt::format("block.{}.", layer);
  Block block;
  block.all = {parameters_.find(name + "norm_1.weight"),
               parameters_.find(name + "ffn_out.weight") + 1};
  const Block *again = is_shared(Recompute::block) ? &blocks_.front() : nullptr,
              *attends = is_shared(Recompute::attention) ? &blocks_.front() : nullptr;
  block.qkv = lay_out_linear(name, "qkv", attends ? &attends->qkv : nullptr);
  block.attention_out =
      lay_out_linear(name, "attention_out", attends ? &attends->attention_out : nullptr);
  block.ffn_in = lay_out_linear(name, "ffn_in", again ? &again->ffn_in : nullptr);
  block.ffn_out = lay_out_linear(name, "ffn_out", again ? &again->ffn_out : nullptr);
  block.norm_1 = lay_out_norm(name + "norm_1", x);
  lay_out_attention(block, name);
  const std::size_t q_norm = parameters_.find(name + "q_norm.weight"),
                    k_norm = parameters_.find(name + "k_norm.weight");
  block.rotary.q_weight = weight(q_norm);
  block.rotary.k_weight = weight(k_norm);
  block.rotary.q_weight_gradient = gradient(q_norm);
  block.rotary.k_weight_gradient = gradient(k_norm);
  block.middle = is_shared(Recompute::block)
                     ? blocks_.front().middle
                     : activation(name + "middle", config_.tokens(), config_.width);
  block.norm_2 = lay_out_norm(name + "norm_2", block.middle);
  lay_out_ffn(block, name);
  return block;
}

void Qwen3::lay_out_attention(Block& block, const std::string& name) {
  if (is_shared(Recompute::attention)) {
    const Block& first = blocks_.front();
    block.normed_1 = first.normed_1;
    block.rotary = first.rotary;
    block.attention = first.attention;
    return;
  }
  const AttentionShape shape = config_.attention();
  const std::int64_t tokens = config_.tokens();
  block.normed_1 = linear_input(name + "normed_1", &Block::normed_1, config_.width);
  block.rotary.shape = shape;
  block.rotary.qkv = activation(name + "qkv", tokens, shape.qkv_width());
  block.rotary.inverse_rms = memory_.add(MemoryUse::activations, name + "heads' inverse rms",
                                         tokens, shape.heads + shape.key_heads());
  block.attention = {shape, activation(name + "rotated", tokens, shape.qkv_width()),
                     activation(name + "attended", tokens, shape.width()),
                     memory_.add(MemoryUse::activations, name + "log sum exp",
                                 shape.batch * shape.heads, shape.tokens)};
}

void Qwen3::lay_out_ffn(Block& block, const std::string& name) {
  if (is_shared(Recompute::block)) {
    block.normed_2 = blocks_.front().normed_2;
    block.gate_up = blocks_.front().gate_up;
    block.activated = blocks_.front().activated;
    return;
  }
  const std::int64_t f = config_.ffn_width;
  block.normed_2 = linear_input(name + "normed_2", &Block::normed_2, config_.width);
  block.gate_up = activation(name + "gate_up", config_.tokens(), 2 * f);
  block.activated = linear_input(name + "activated", &Block::activated, f);
}

const Tensor& Qwen3::output_of(std::int64_t layer) const {
  const auto next = static_cast<std::size_t>(layer + 1);
  return next < blocks_.size() ? blocks_[next].norm_1.x : norm_.x;
}

void Qwen3::enqueue_forward(Stream& stream, const BlockBegins& begins) {
  operations_.run(stream, Embedding{tokens(), weight(token_table_), {}, output_of(-1)});
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    begins(blocks_[static_cast<std::size_t>(layer)].all);
    forward_block(stream, layer);
  }
  operations_.run(stream, RmsNorm{norm_, normed_});
}

// middle = x + attention(norm_1(x)) W, output = middle + swiglu(norm_2(middle) W) W.
void Qwen3::forward_block(Stream& stream, std::int64_t layer) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  attend(stream, b);
  b.attention_out.forward_add(operations_, stream, b.attention.out, b.norm_1.x, b.middle);
  expand(stream, b);
  b.ffn_out.forward_add(operations_, stream, b.activated, b.middle, output_of(layer));
}

void Qwen3::attend(Stream& stream, const Block& b) {
  operations_.run(stream, RmsNorm{b.norm_1, b.normed_1});
  b.qkv.forward(operations_, stream, b.normed_1, b.rotary.qkv);
  operations_.run(stream, Rotate{b.rotary, b.attention.qkv});
  operations_.run(stream, Attention{b.attention});
}

void Qwen3::expand(Stream& stream, const Block& b) {
  operations_.run(stream, RmsNorm{b.norm_2, b.normed_2});
  b.ffn_in.forward(operations_, stream, b.normed_2, b.gate_up);
  operations_.run(stream, SwiGlu{b.gate_up, b.activated});
}

template <typename Piece>
void Qwen3::for_each_piece(Stream& stream, const Piece& piece) {
  const std::int64_t tokens = config_.tokens();
  for (std::int64_t first = 0; first < tokens; first += logits_.rows) {
    const std::int64_t count = std::min(logits_.rows, tokens - first);
    const Tensor logits = rows_of(logits_, 0, count), normed = rows_of(normed_, first, count);
    operations_.run(stream, LinearForward{normed, weight(head_), logits});
    operations_.run(stream,
                    CrossEntropyPiece{logits, config_.vocabulary, rows_of(targets(), first, count),
                                      tokens, rows_of(row_losses(), first, count)});
    piece(logits, normed, rows_of(dnormed_, first, count));
  }
  operations_.run(stream, Mean{row_losses(), loss()});
}

void Qwen3::evaluate(Stream& stream) {
  for_each_piece(stream, [](const Tensor&, const Tensor&, const Tensor&) {});
}

Tensor Qwen3::next_logits(Stream& stream, std::int64_t row) {
  const Tensor logits = row_of(logits_, 0);
  operations_.run(stream, LinearForward{row_of(normed_, row), weight(head_), logits});
  return logits;
}

void Qwen3::enqueue_backward(Stream& stream, Accumulate gradients,
                             const GradientsComplete& complete, const BlockBegins& begins) {
  Accumulate head_gradients = gradients;
  for_each_piece(stream, [&](const Tensor& dlogits, const Tensor& normed, const Tensor& dnormed) {
    if (!is_frozen()) {
      operations_.run(stream,
                      LinearBackwardWeight{dlogits, normed, gradient(head_), head_gradients});
    }
    operations_.run(stream, LinearBackwardInput{dlogits, weight(head_), dnormed, Accumulate::no});
    head_gradients = Accumulate::yes;
  });
  operations_.run(stream, RmsNormBackward{norm_, dnormed_, dresidual_, Accumulate::no, gradients});
  complete({blocks_.back().all.last, parameters_.all().size()});
  for (std::int64_t layer = config_.layers - 1; layer >= 0; --layer) {
    const ParameterRange& block = blocks_[static_cast<std::size_t>(layer)].all;
    begins(block);
    backward_block(stream, layer, gradients);
    complete(block);
  }
  if (!is_frozen()) {
    const Tensor& table = gradient(token_table_);
    if (gradients == Accumulate::no) operations_.run(stream, FillValue{0, table});
    operations_.run(stream, EmbeddingBackward{tokens(), dresidual_, table, {}, gradients});
  }
  complete({0, blocks_.front().all.first});
}

// dresidual_ is the gradient of the block's output before, and of its input after. The gradient of
// gate_up takes its place.
void Qwen3::backward_block(Stream& stream, std::int64_t layer, Accumulate gradients) {
  const Block& b = blocks_[static_cast<std::size_t>(layer)];
  if (config_.recompute != Recompute::none) attend(stream, b);
  if (config_.recompute == Recompute::attention) {
    b.attention_out.keep(operations_, stream, b.attention.out);
  }
  if (config_.recompute == Recompute::block) {
    b.attention_out.forward_add(operations_, stream, b.attention.out, b.norm_1.x, b.middle);
    expand(stream, b);
    b.ffn_out.keep(operations_, stream, b.activated);
  }
  b.ffn_out.backward(operations_, stream, dresidual_, b.activated, dactivated_, gradients);
  operations_.run(stream, SwiGluBackward{b.gate_up, dactivated_, b.gate_up});
  b.ffn_in.backward(operations_, stream, b.gate_up, b.normed_2, dnormed_, gradients);
  operations_.run(stream,
                  RmsNormBackward{b.norm_2, dnormed_, dresidual_, Accumulate::yes, gradients});
  b.attention_out.backward(operations_, stream, dresidual_, b.attention.out, dattended_, gradients);
  operations_.run(stream, AttentionBackward{b.attention, dattended_, dqkv_});
  operations_.run(stream, RotateBackward{b.rotary, dqkv_, dqkv_, gradients});
  b.qkv.backward(operations_, stream, dqkv_, b.normed_1, dnormed_, gradients);
  operations_.run(stream,
                  RmsNormBackward{b.norm_1, dnormed_, dresidual_, Accumulate::yes, gradients});
}

namespace {

// "qwen3-8b", or "qwen3-8b-lora16" with adapters of rank 16.
std::string model_name(const Qwen3Config& config) {
  const std::string adapters = config.lora.rank > 0 ? fmt::format("-lora{}", config.lora.rank) : "";
  return fmt::format("qwen3-{}{}", config.name, adapters);
}

// A whole model, or the adapters of one.
ModelFolder folder_of(const Qwen3Config& config) {
  ModelFolder folder;
  Qwen3Config whole = config;
  whole.lora = {};
  folder.check = [whole](const std::string& path) { check_qwen3_folder(path, whole); };
  folder.load = [whole](const std::string& path, const std::vector<CheckpointTensor>& weights) {
    load_qwen3_folder(path, whole, weights);
  };
  folder.save = [config](Rank& rank, const std::string& path, const std::string& base,
                         const std::vector<CheckpointTensor>& trained, const std::string& run) {
    if (config.lora.rank == 0) {
      return save_qwen3_folder(rank, path, config, trained, kMostShardBytes, run);
    }
    const auto save = [&] {
      if (rank.index == 0) save_lora_folder(path, config, base, rank.device, trained, run);
    };
    rank.team.all_or_none(rank, "rank 0 to save adapters", save, kSaveSeconds);
  };
  return folder;
}

std::string targets_of(const LoraConfig& lora) {
  std::vector<std::string> names;
  for (const LoraTarget each : lora.targets) names.emplace_back(name(each));
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

// Per token: two norms read and write d, their backward passes read x, dy and dx and write dx; q, k
// and v are rotated, which reads and writes them, and back, which reads both and writes one; SwiGLU
// reads 2 f and writes f, and back reads 3 f and writes 2 f; the loss reads and writes the logits;
// embeddings and the last norm.
ModelDescription describe(const Qwen3Config& config) {
  const double d = static_cast<double>(config.width), f = static_cast<double>(config.ffn_width);
  const double qkv = static_cast<double>(config.attention().qkv_width());
  const double elements = static_cast<double>(config.layers) * (12 * d + 5 * qkv + 8 * f) +
                          2 * static_cast<double>(config.vocabulary) + 7 * d;
  ModelDescription model = describe_token_model<Qwen3>(config, model_name(config), elements);
  // Logits begin normal, of variance v = d times that of the head: e^(v / 2) is the mean of
  // e^logit.
  model.untrained_loss += kQwen3Deviation * kQwen3Deviation * d / 2;
  if (config.lora.rank > 0 && config.lora.targets != all_lora_targets()) {
    model.axes.set("lora_targets", targets_of(config.lora));
  }
  return model;
}

TokenModelDescription describe_for_text(const Qwen3Config& c) {
  const auto text = [](std::int64_t value) { return fmt::format("{}", value); };
  std::map<std::string, std::string> sizes = {
      {"layers", text(c.layers)},     {"heads", text(c.heads)},
      {"KV heads", text(c.kv_heads)}, {"head width", text(c.head_width)},
      {"width", text(c.width)},       {"FFN width", text(c.ffn_width)}};
  if (c.lora.rank > 0) {
    sizes["LoRA rank"] = text(c.lora.rank);
    sizes["LoRA alpha"] = fmt::format("{}", c.lora.alpha);
    sizes["LoRA targets"] = targets_of(c.lora);
  }
  TokenModelDescription description = describe_sizes_for_text<Qwen3>(c, sizes);
  description.folder = folder_of(c);
  return description;
}

}  // namespace duet
