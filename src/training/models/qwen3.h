// A Qwen3 and one step of its training.
#pragma once

#include <vector>

#include "training/models/linear.h"
#include "training/models/qwen3_config.h"
#include "training/models/token_model.h"

namespace duet {

class Qwen3 : public TokenModel {
 public:
  // Plans its memory. The device and the operations must outlive it.
  Qwen3(const Qwen3Config& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
        Operations& operations, const std::optional<Shard>& shard = {});

  void evaluate(Stream& stream) override;
  Tensor next_logits(Stream& stream, std::int64_t row) override;

  const Tensor& output() const override { return normed_; }

 private:
  struct Block {
    ParameterRange all;
    Linear qkv, attention_out, ffn_in, ffn_out;
    RmsNormTensors norm_1, norm_2;
    Tensor normed_1, normed_2;   // the norms' results
    RotaryTensors rotary;        // of q, k and v as they are projected
    AttentionTensors attention;  // of the rotated ones
    Tensor middle;               // the residual stream between attention and FFN
    Tensor gate_up, activated;   // the FFN before and after SwiGLU
  };

  void lay_out() override;
  void enqueue_forward(Stream& stream, const BlockBegins& begins) override;
  void enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                        const BlockBegins& begins) override;
  Block lay_out_block(std::int64_t layer, const Tensor& x);
  void lay_out_attention(Block& block, const std::string& name);
  void lay_out_ffn(Block& block, const std::string& name);
  RmsNormTensors lay_out_norm(const std::string& name, const Tensor& x);
  // linear: "qkv", "attention_out", "ffn_in" or "ffn_out". In fp8 it keeps its input where `shared`
  // does, if that is there.
  Linear lay_out_linear(const std::string& block, const std::string& linear, const Linear* shared);
  QuantisedLinear quantised_linear(const std::string& name, std::size_t weight_index,
                                   const Linear* shared);
  void lay_out_quantised();
  // A linear's input, which only the gradient of its weight takes: in fp8 the linear keeps that.
  // Adapters take it too.
  Tensor linear_input(const std::string& name, Tensor Block::*input, std::int64_t columns);
  // Kept for the backward pass, or, where it is recomputed, of the first block and shared by all.
  bool is_shared(Recompute least) const { return config_.recompute >= least && !blocks_.empty(); }
  bool is_frozen() const { return config_.lora.rank > 0; }  // all but the adapters
  const Tensor& output_of(std::int64_t layer) const;
  // The parts of a block's forward pass, which the backward pass may call again.
  void attend(Stream& stream, const Block& block);
  void expand(Stream& stream, const Block& block);
  void forward_block(Stream& stream, std::int64_t layer);
  void backward_block(Stream& stream, std::int64_t layer, Accumulate gradients);
  // Calls piece(logits, normed, dnormed) after the loss of each piece of the tokens, whose
  // gradient is in the place of the logits; writes loss().
  template <typename Piece>
  void for_each_piece(Stream& stream, const Piece& piece);

  Qwen3Config config_;
  std::size_t token_table_, head_;  // indices into parameters_
  std::vector<Block> blocks_;
  RmsNormTensors norm_;
  Tensor normed_, logits_;  // logits_: of a piece of the tokens
  // Gradients of activations: of the residual stream, and of one block at a time.
  Tensor dresidual_, dnormed_, dqkv_, dattended_, dactivated_;
  QuantisedWorkspace quantised_;  // of fp8
};

// Of a step, FLOP as TrainingFlop counts them.
ModelDescription describe(const Qwen3Config& config);
TokenModelDescription describe_for_text(const Qwen3Config& config);

}  // namespace duet
