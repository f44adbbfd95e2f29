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

DecoderShape shape_of(const Qwen3Config& config, const Recipe& recipe) {
  DecoderShape shape{config.layers, config.width, config.ffn_width, config.attention(),
                     config.recompute};
  shape.rms_norm = shape.rotates = shape.gates = true;
  shape.experts = config.experts;
  shape.chosen = config.chosen;
  // In fp8 linears keep them, but adapters take the inputs themselves.
  shape.linears_keep_inputs = recipe.fp8 && config.lora.rank == 0;
  return shape;
}

}  // namespace

Qwen3::Qwen3(const Qwen3Config& config, const Recipe& recipe, const Optimizer& optimizer,
             Device& device, Operations& operations, const ModelShard& shard)
    : Decoder(device, operations,
              Parameters(
                  with_blocks(shard_of(duet::parameters(config), shape_of(config, recipe), shard)),
                  recipe, optimizer, shard),
              config.vocabulary, shard_of(shape_of(config, recipe), shard)),
      config_(config),
      token_table_(parameters_.find("token_table")),
      head_(parameters_.find("head.weight")) {
  plan();
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

void Qwen3::lay_out() {
  lay_out_tokens(config_.tokens());
  lay_out_quantised();
  lay_out_blocks();
  logits_ = workspace("logits", std::min(config_.tokens(), kPieceTokens), weight(head_).rows);
  lay_out_losses("head.weight", logits_.rows);
  lay_out_gradients();
}

void Qwen3::enqueue_forward(Stream& stream, const BlockBegins& begins) {
  embed(stream, weight(token_table_), {});
  forward_blocks(stream, begins);
}

template <typename Piece>
void Qwen3::for_each_piece(Stream& stream, const Piece& piece) {
  const std::int64_t tokens = config_.tokens();
  const Tensor all = head_input(stream);
  for (std::int64_t first = 0; first < tokens; first += logits_.rows) {
    const std::int64_t count = std::min(logits_.rows, tokens - first);
    const Tensor logits = rows_of(logits_, 0, count), x = rows_of(all, first, count);
    operations_.run(stream, LinearForward{x, weight(head_), logits});
    piece_loss(stream, {logits, config_.vocabulary, rows_of(targets(), first, count), tokens,
                        rows_of(row_losses(), first, count)});
    piece(logits, x, rows_of(dhead_input(), first, count));
  }
  operations_.run(stream, Mean{row_losses(), loss()});
}

void Qwen3::evaluate(Stream& stream) {
  for_each_piece(stream, [](const Tensor&, const Tensor&, const Tensor&) {});
}

Tensor Qwen3::next_logits(Stream& stream, std::int64_t row) {
  const Tensor logits = row_of(logits_, 0);
  operations_.run(stream, LinearForward{row_of(normed(), row), weight(head_), logits});
  return logits;
}

void Qwen3::enqueue_backward(Stream& stream, Accumulate gradients,
                             const GradientsComplete& complete, const BlockBegins& begins) {
  Accumulate head_gradients = gradients;
  for_each_piece(stream, [&](const Tensor& dlogits, const Tensor& x, const Tensor& dx) {
    if (!is_frozen()) {
      operations_.run(stream, LinearBackwardWeight{dlogits, x, gradient(head_), head_gradients});
    }
    operations_.run(stream, LinearBackwardInput{dlogits, weight(head_), dx, Accumulate::no});
    head_gradients = Accumulate::yes;
  });
  head_input_backward(stream);
  backward_blocks(stream, gradients, complete, begins);
  if (!is_frozen()) {
    const Tensor& table = gradient(token_table_);
    if (gradients == Accumulate::no) operations_.run(stream, FillValue{0, table});
    embed_backward(stream, table, {}, gradients);
  }
  complete(before_blocks());
}

namespace {

// "qwen3-8b", "qwen3-8b-lora16" with adapters of rank 16, or "qwen3-moe-30b-a3b".
std::string model_name(const Qwen3Config& config) {
  const std::string adapters = config.lora.rank > 0 ? fmt::format("-lora{}", config.lora.rank) : "";
  return fmt::format("qwen3-{}{}{}", config.experts > 0 ? "moe-" : "", config.name, adapters);
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
// embeddings and the last norm. Of experts: each chosen row is read and written where it goes to
// its expert and where it comes back, in both passes, in the backward pass with the result.
ModelDescription describe(const Qwen3Config& config) {
  const double d = static_cast<double>(config.width), f = static_cast<double>(config.ffn_width);
  const double qkv = static_cast<double>(config.attention().qkv_width());
  const double ffn =
      config.experts > 0 ? static_cast<double>(config.chosen) * (8 * f + 7 * d) : 8 * f;
  const double elements = static_cast<double>(config.layers) * (12 * d + 5 * qkv + ffn) +
                          2 * static_cast<double>(config.vocabulary) + 7 * d;
  ModelDescription model =
      describe_token_model<Qwen3>(config, model_name(config), elements, shape_of(config, {}));
  if (config.lora.rank > 0 || config.experts > 0) model.why_not_divisible = {};
  if (config.experts > 0) {
    model.why_experts_not_divisible = [shape = shape_of(config, {})](int ranks) {
      return why_experts_not_divisible(shape, ranks);
    };
    for (const ModelParameter& each : parameters(config)) {
      if (each.name.find(".experts_") != std::string::npos)
        model.expert_parameters += static_cast<double>(each.count());
    }
  }
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
  if (c.experts > 0) {
    sizes["experts"] = text(c.experts);
    sizes["experts of a token"] = text(c.chosen);
  }
  TokenModelDescription description = describe_sizes_for_text<Qwen3>(c, sizes);
  description.folder = folder_of(c);
  return description;
}

}  // namespace duet
