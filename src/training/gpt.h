// A GPT and one step of its training, as operations on a stream.
#pragma once

#include <memory>
#include <vector>

#include "training/gpt_config.h"
#include "training/memory_plan.h"
#include "training/operations.h"
#include "training/recipe.h"

namespace duet {

// A parameter, its gradient and its AdamW moments. The token table has rows of zeros behind the
// vocabulary, to a multiple of kVocabularyRows: GEMMs with odd sides are slow.
struct TrainedParameter {
  ModelParameter about;
  AdamWTensors tensors;
};
inline constexpr std::int64_t kVocabularyRows = 128;

class Gpt {
 public:
  // Plans and allocates all memory, and initialises nothing. `operations` and the device must
  // outlive it. Throws OutOfMemory.
  Gpt(const GptConfig& config, const Recipe& recipe, Device& device, Operations& operations);

  // Blocking. Parameters as GPT-2's are initialised (normal,
  // of deviation 0.02, those that write into the residual stream divided by sqrt(2 layers); norms 1
  // and 0), moments and gradients 0.
  void initialise(std::uint64_t seed);

  // Each enqueues its part of a step and returns.
  // Counts the step, and writes new random tokens and targets.
  void begin_random_step(Stream& stream);
  // Writes loss().
  void forward(Stream& stream);
  // After forward(); writes the gradients, or adds to them.
  void backward(Stream& stream, Accumulate gradients);
  void update(Stream& stream, const AdamWOptions& options);

  const GptConfig& config() const { return config_; }
  const Recipe& recipe() const { return recipe_; }
  const MemoryPlan& memory() const { return memory_; }
  std::vector<TrainedParameter>& parameters() { return parameters_; }
  // int32 (1, batch * sequence), written by begin_random_step() or by the caller.
  const Tensor& tokens() const { return tokens_; }
  const Tensor& targets() const { return targets_; }
  const Tensor& logits() const { return logits_; }
  const Tensor& loss() const { return loss_; }       // fp32 (1, 1)
  const Span& state() const { return state_.span; }  // a StepState

 private:
  // The parameters of a block, as indices into parameters_.
  struct Block {
    std::size_t qkv, attention_out, ffn_in, ffn_out;
    NormTensors norm_1, norm_2;
    AttentionTensors attention;
    Tensor normed_1, normed_2;  // the norms' results
    Tensor middle;              // the residual stream between attention and FFN
    Tensor hidden, activated;   // the FFN before and after GELU
  };

  void lay_out();
  // Parameters that decay or not: flat tensors, updated by one call.
  struct Group {
    bool decays;
    AdamWTensors tensors;
  };

  void lay_out_parameters();
  void lay_out_group(bool decays);
  void lay_out_activations();
  NormTensors lay_out_norm(const std::string& name, const Tensor& x);
  Tensor activation(const std::string& name, std::int64_t columns);
  Tensor workspace(const std::string& name, std::int64_t columns);
  std::size_t find(const std::string& name) const;
  const Tensor& weight(std::size_t index) const { return parameters_[index].tensors.parameters; }
  const Tensor& gradient(std::size_t index) const { return parameters_[index].tensors.gradients; }
  // The output of block `layer`, which the next one reads.
  const Tensor& output(std::int64_t layer) const;
  void forward(Stream& stream, std::int64_t layer);
  void backward(Stream& stream, std::int64_t layer, Accumulate gradients);
  void initialise(Stream& stream, const TrainedParameter& parameter, std::uint64_t seed,
                  const Tensor& tensor);

  GptConfig config_;
  Recipe recipe_;
  Device& device_;
  Operations& operations_;
  MemoryPlan memory_;
  std::vector<TrainedParameter> parameters_;
  std::vector<Group> groups_;
  std::size_t token_table_ = 0, position_table_ = 0;  // indices into parameters_
  std::vector<Block> blocks_;
  NormTensors norm_;
  Tensor tokens_, targets_, row_losses_, loss_, state_;
  Tensor normed_, logits_;
  // Gradients of activations: of the residual stream, and of one block at a time.
  Tensor dresidual_, dnormed_, dqkv_, dattended_, dhidden_;
};

}  // namespace duet
