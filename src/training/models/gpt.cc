#include "training/models/gpt.h"

#include <fmt/format.h>

namespace duet {
namespace {

DecoderShape shape_of(const GptConfig& c) {
  return {
      c.layers, c.width, c.ffn_width, {c.batch, c.sequence, c.heads, c.head_width()}, c.recompute};
}

}  // namespace

Gpt::Gpt(const GptConfig& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
         Operations& operations, const ModelShard& shard)
    : Decoder(device, operations,
              Parameters(
                  with_blocks(shard_of(duet::parameters(config), shape_of(config), shard.tensor)),
                  recipe, optimizer, shard),
              config.vocabulary, shard_of(shape_of(config), shard.tensor)),
      config_(config),
      token_table_(parameters_.find("token_table")),
      position_table_(parameters_.find("position_table")) {
  plan();
}

void Gpt::lay_out() {
  lay_out_tokens(config_.tokens());
  lay_out_blocks();
  logits_ = activation("logits", config_.tokens(), weight(token_table_).rows);
  lay_out_losses("token_table", config_.tokens());
  lay_out_gradients();
}

void Gpt::enqueue_forward(Stream& stream, const BlockBegins& begins) {
  embed(stream, weight(token_table_), weight(position_table_));
  forward_blocks(stream, begins);
}

Tensor Gpt::compute_loss(Stream& stream) {
  Tensor x = head_input(stream);
  operations_.run(stream, LinearForward{x, weight(token_table_), logits_});
  batch_loss(stream, logits_);
  return x;
}

void Gpt::evaluate(Stream& stream) { compute_loss(stream); }

Tensor Gpt::next_logits(Stream& stream, std::int64_t row) {
  const Tensor logits = row_of(logits_, 0);
  operations_.run(stream, LinearForward{row_of(normed(), row), weight(token_table_), logits});
  return logits;
}

void Gpt::enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                           const BlockBegins& begins) {
  const Tensor x = compute_loss(stream);
  operations_.run(stream, LinearBackwardWeight{logits_, x, gradient(token_table_), gradients});
  operations_.run(
      stream, LinearBackwardInput{logits_, weight(token_table_), dhead_input(), Accumulate::no});
  head_input_backward(stream);
  backward_blocks(stream, gradients, complete, begins);
  embed_backward(stream, gradient(token_table_), gradient(position_table_), gradients);
  complete(before_blocks());
}

// Per token: two norms read and write d, their backward passes read x, dy and dx and write dx; the
// loss reads and writes the logits; embeddings and the last norm.
ModelDescription describe(const GptConfig& config) {
  const double d = static_cast<double>(config.width);
  const double elements = static_cast<double>(config.layers) * 12 * d +
                          2 * static_cast<double>(config.vocabulary) + 7 * d;
  return describe_token_model<Gpt>(config, config.name, elements, shape_of(config));
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
