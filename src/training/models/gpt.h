// A GPT and one step of its training.
#pragma once

#include <vector>

#include "training/models/gpt_config.h"
#include "training/models/token_model.h"

namespace duet {

class Gpt : public TokenModel {
 public:
  // Plans its memory. The device and the operations must outlive it.
  Gpt(const GptConfig& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
      Operations& operations, const std::optional<Shard>& shard = {});

  void evaluate(Stream& stream) override;
  Tensor next_logits(Stream& stream, std::int64_t row) override;

  const GptConfig& config() const { return config_; }
  const Tensor& output() const override { return logits_; }

 private:
  // The parameters of a block, as indices into parameters_.
  struct Block {
    ParameterRange all;
    std::size_t qkv, attention_out, ffn_in, ffn_out;
    NormTensors norm_1, norm_2;
    AttentionTensors attention;
    Tensor normed_1, normed_2;  // the norms' results
    Tensor middle;              // the residual stream between attention and FFN
    Tensor hidden, activated;   // the FFN before and after GELU
  };

  void lay_out() override;
  void enqueue_forward(Stream& stream, const BlockBegins& begins) override;
  void enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                        const BlockBegins& begins) override;
  Block lay_out_block(std::int64_t layer, const Tensor& x);
  void lay_out_attention(Block& block, const std::string& name);
  void lay_out_ffn(Block& block, const std::string& name);
  NormTensors lay_out_norm(const std::string& name, const Tensor& x);
  // Kept for the backward pass, or, where it is recomputed, of the first block and shared by all.
  bool is_shared(Recompute least) const { return config_.recompute >= least && !blocks_.empty(); }
  // The output of block `layer`, which the next one reads.
  const Tensor& output_of(std::int64_t layer) const;
  // The parts of a block's forward pass, which the backward pass may call again.
  void attend(Stream& stream, const Block& block);
  void expand(Stream& stream, const Block& block);
  void forward_block(Stream& stream, std::int64_t layer);
  void backward_block(Stream& stream, std::int64_t layer, Accumulate gradients);

  GptConfig config_;
  std::size_t token_table_, position_table_;  // indices into parameters_
  std::vector<Block> blocks_;
  NormTensors norm_;
  Tensor normed_, logits_;
  // Gradients of activations: of the residual stream, and of one block at a time.
  Tensor dresidual_, dnormed_, dqkv_, dattended_, dhidden_;
};

// Of a step, FLOP as TrainingFlop counts them.
ModelDescription describe(const GptConfig& config);
TokenModelDescription describe_for_text(const GptConfig& config);

}  // namespace duet
