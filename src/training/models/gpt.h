// A GPT and one step of its training.
#pragma once

#include "training/models/decoder.h"
#include "training/models/gpt_config.h"

namespace duet {

class Gpt : public Decoder {
 public:
  // Plans its memory. The device and the operations must outlive it.
  Gpt(const GptConfig& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
      Operations& operations, const ModelShard& shard = {});

  void evaluate(Stream& stream) override;
  Tensor next_logits(Stream& stream, std::int64_t row) override;

  const GptConfig& config() const { return config_; }
  const Tensor& output() const override { return logits_; }

 private:
  void lay_out() override;
  void enqueue_forward(Stream& stream, const BlockBegins& begins) override;
  void enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                        const BlockBegins& begins) override;

  // Leaves the logits' gradient in their place. Returns what the head has multiplied.
  Tensor compute_loss(Stream& stream);

  GptConfig config_;
  std::size_t token_table_, position_table_;  // indices into parameters_
  Tensor logits_;
};

// Of a step, FLOP as TrainingFlop counts them.
ModelDescription describe(const GptConfig& config);
TokenModelDescription describe_for_text(const GptConfig& config);

}  // namespace duet
