// A model in training on one device: its memory, and one step as operations on a stream.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "timing/axes.h"
#include "timing/work.h"
#include "training/models/parameters.h"
#include "training/models/row_exchange.h"
#include "training/operations/forked_stream.h"

namespace duet {

// Both are called while a pass is enqueued, in the stream's order. BlockBegins: work enqueued from
// here on uses the parameters of this block, and no longer those of the previous one.
using BlockBegins = std::function<void(const ParameterRange&)>;
// The gradients of a range are complete here, and no later work reads its parameters.
using GradientsComplete = std::function<void(const ParameterRange&)>;

class Model {
 public:
  virtual ~Model() = default;

  // Allocates the planned memory; must be called before all functions below. Throws OutOfMemory.
  void allocate();

  // Blocking.
  void initialise(std::uint64_t seed);

  // Each enqueues its part of a step and returns.
  void begin_step(Stream& stream);  // increments the number of the step
  // Input and targets, different for each step and each `batch` of it (from 0).
  virtual void make_random_input(Stream& stream, std::uint64_t batch) = 0;
  void forward(Stream& stream, const BlockBegins& begins = {});
  // Call one of these after forward(). evaluate() writes loss(); backward() writes loss() too, and
  // writes the gradients, or adds to them. (Loss and gradient are computed together because a model
  // may not keep the logits of all tokens.) `complete` is called once for every parameter.
  virtual void evaluate(Stream& stream) = 0;
  void backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete = {},
                const BlockBegins& begins = {});
  // Clips the gradients as the operation Clip does, with the norm in gradient_norm(); call it
  // before update(). `sum_over_ranks` makes squares() those of all ranks, if ranks keep parts of
  // the gradients. Without clip(), update() scales the gradients by the state's factor as it is.
  void clip(Stream& stream, double scale, double limit,
            const std::function<void()>& sum_over_ranks = {});
  // Of a tensor shard: by what passes exchange rows from now on; nullptr: by nothing. Returns the
  // one before.
  RowExchange* set_exchange(RowExchange* exchange) { return exchange_.set(exchange); }
  void update(Stream& stream);  // all parameters
  void update(Stream& stream, const ParameterRange& range);
  // backward() and update(): parameters are updated on the second stream as soon as their gradients
  // are complete, to use memory bandwidth that GEMMs leave unused. `stream` should have the higher
  // priority; its later work runs after both.
  void backward_beside_update(Stream& stream, ForkedStream& updates, Accumulate gradients);

  const MemoryPlan& memory() const { return memory_; }
  const Parameters& parameters() const { return parameters_; }
  const Tensor& loss() const { return loss_; }                    // fp32 (1, 1)
  const Tensor& gradient_norm() const { return gradient_norm_; }  // fp32 (1, 1)
  const Tensor& squares() const { return squares_; }              // fp32 (1, 1), of clip()
  const Span& state() const { return state_.span; }               // a StepState
  // A large activation. If operations compute it (Operations::computes()), they compute the model.
  virtual const Tensor& output() const = 0;

 protected:
  // The device and `operations` must outlive the model.
  Model(Device& device, Operations& operations, Parameters parameters);

  // For numbers like those of a step in memory that a pass without an exchange reads.
  virtual void begin_workspace(Stream&) {}
  // Plans all memory; the last call of a constructor.
  void plan();
  // Lays out all tensors except parameters; called twice.
  virtual void lay_out() = 0;
  virtual void enqueue_forward(Stream& stream, const BlockBegins& begins) = 0;
  virtual void enqueue_backward(Stream& stream, Accumulate gradients,
                                const GradientsComplete& complete, const BlockBegins& begins) = 0;

  Tensor activation(const std::string& name, std::int64_t rows, std::int64_t columns);
  Tensor workspace(const std::string& name, std::int64_t rows, std::int64_t columns);
  const Tensor& weight(std::size_t index) const { return parameters_.weight(index); }
  const Tensor& gradient(std::size_t index) const { return parameters_.gradient(index); }

  Operations& operations_;
  MemoryPlan memory_;
  Parameters parameters_;
  ModelRowExchange exchange_;

 private:
  void lay_out_all();

  Device& device_;
  Tensor loss_, squares_, gradient_norm_, state_;
};

// Names of Cost::more: the tokens of a step or, of models without tokens, its samples.
inline constexpr const char* kTokens = "tokens";
inline constexpr const char* kSamples = "samples";

// A model that has not been constructed: the cost of its steps, and how to construct it.
struct ModelDescription {
  std::string name;
  Axes axes;                      // of its case, without the recipe
  Cost cost;                      // of a step, without memory_bytes
  double trained_parameters = 0;  // without frozen ones
  // Minimum number of activations that a step reads and writes outside GEMMs and attention: as if
  // GEMMs computed GELU and added residuals.
  double elements_moved = 0;
  double six_n = 0;            // FLOP of a step by 6 N
  double six_n_attention = 0;  // and attention, its masked half included; 0: no attention
  double hardware = 0;         // FLOP that the device executes
  double untrained_loss = 0;   // approximate, for random targets
  // Plans the model's memory without allocating it. With a Shard, the caller must gather parameters
  // before a pass uses them; with a TensorShard, set the exchange.
  std::function<std::unique_ptr<Model>(const Recipe&, const Optimizer&, const ModelShard&, Device&,
                                       Operations&)>
      make;
  // Why so many ranks cannot divide its linears; "": they can. Empty: no ranks can.
  std::function<std::string(int ranks)> why_not_divisible;
  // Likewise of its experts; empty: it has none.
  std::function<std::string(int ranks)> why_experts_not_divisible;
  double expert_parameters = 0;  // of trained_parameters
  // The same model with another number of sequences or samples per step.
  std::function<ModelDescription(std::int64_t batch)> with_batch;
};

// Sets `make` and `with_batch` of a description by describe(config), of a Model that is made of a
// config with a batch.
template <typename OwnModel, typename Config>
void set_making(ModelDescription& description, const Config& config) {
  description.make = [config](const Recipe& recipe, const Optimizer& optimizer,
                              const ModelShard& shard, Device& device,
                              Operations& operations) -> std::unique_ptr<Model> {
    return std::make_unique<OwnModel>(config, recipe, optimizer, device, operations, shard);
  };
  description.with_batch = [config](std::int64_t batch) {
    Config changed = config;
    changed.batch = batch;
    return describe(changed);
  };
}

}  // namespace duet
