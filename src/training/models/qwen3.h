// A Qwen3 and one step of its training.
#pragma once

#include "training/models/decoder.h"
#include "training/models/qwen3_config.h"

namespace duet {

class Qwen3 : public Decoder {
 public:
  // Plans its memory. The device and the operations must outlive it.
  Qwen3(const Qwen3Config& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
        Operations& operations, const ModelShard& shard = {});

  void evaluate(Stream& stream) override;
  Tensor next_logits(Stream& stream, std::int64_t row) override;

  const Tensor& output() const override { return normed(); }

 private:
  void lay_out() override;
  void enqueue_forward(Stream& stream, const BlockBegins& begins) override;
  void enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                        const BlockBegins& begins) override;
  // In fp8 it keeps its input where `shared` does, if that is there.
  Linear lay_out_linear(const std::string& block, const std::string& linear,
                        const Linear* shared) override;
  QuantisedLinear quantised_linear(const std::string& name, std::size_t weight_index,
                                   const Linear* shared);
  void lay_out_quantised();
  bool is_frozen() const { return config_.lora.rank > 0; }  // all but the adapters
  // Calls piece(logits, x, dx), x and dx of head_input() and dhead_input(), after the loss of each
  // piece of the tokens, whose gradient is in the place of the logits; writes loss().
  template <typename Piece>
  void for_each_piece(Stream& stream, const Piece& piece);

  Qwen3Config config_;
  std::size_t token_table_, head_;  // indices into parameters_
  Tensor logits_;                   // of a piece of the tokens
  QuantisedWorkspace quantised_;    // of fp8
};

// Of a step, FLOP as TrainingFlop counts them.
ModelDescription describe(const Qwen3Config& config);
TokenModelDescription describe_for_text(const Qwen3Config& config);

}  // namespace duet
