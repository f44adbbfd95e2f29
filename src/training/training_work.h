// One training step of a model as a Work.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "timing/work.h"
#include "training/model.h"
#include "training/overlapped_update.h"
#include "training/timed_operations.h"

namespace duet {

// When a step updates its parameters: after the backward pass, or beside it.
enum class UpdateOrder { after, beside };
const char* name(UpdateOrder order);
UpdateOrder parse_update_order(std::string_view text);  // throws UsageError

// Each step trains on new random input: a repeated batch would be memorised, and draw less power.
class TrainingWork : public Work {
 public:
  // A step adds up the gradients of `accumulate` batches, above 1 in fp32.
  TrainingWork(ModelDescription description, Recipe recipe, const Optimizer& optimizer = {},
               std::int64_t accumulate = 1, UpdateOrder order = UpdateOrder::after);

  std::string name() const override { return "train"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int most_queued() const override;
  void renew(Rank& rank) override;
  // The loss of the last step must be near an untrained model's, which no model of random targets
  // beats, and the first row of each parameter must have a gradient and have changed.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // The seconds of each part of a step whose operations are enqueued and timed one by one, without
  // a graph; between prepare() and release().
  std::array<double, kStepParts> time_parts(Rank& rank);

  // What a step needs by kind ("activations", "gemm and attention"); empty before prepare().
  const std::map<std::string, std::uint64_t>& memory() const { return memory_; }
  const std::map<std::string, std::string>& notes() const { return notes_; }  // Operations::notes()
  // Of all that a step needs; 0 before prepare().
  std::uint64_t memory_bytes() const;

 private:
  void make_model(Rank& rank);
  StepState first_state() const;
  void step(Stream& stream, UpdateOrder order);
  void set_state(Rank& rank, const StepState& state) const;
  void require_loss(Rank& rank) const;
  void require_update(Rank& rank) const;
  void poison(Rank& rank) const;
  // What a step changes of a parameter: bf16 parameters may round to what they were, their moments
  // do not.
  static const Tensor& updated(const TrainedParameter& parameter);
  static std::vector<float> first_row(Rank& rank, const Tensor& tensor);

  ModelDescription description_;
  Recipe recipe_;
  Optimizer optimizer_;
  std::int64_t accumulate_;
  UpdateOrder order_;
  std::uint64_t renewals_ = 0;
  std::vector<std::vector<float>> before_;  // the first row of what a step updates, at renew()
  std::map<std::string, std::uint64_t> memory_;
  std::map<std::string, std::string> notes_;
  std::unique_ptr<TimedOperations> operations_;
  std::unique_ptr<Model> model_;  // uses the operations
  std::unique_ptr<OverlappedUpdate> overlapped_;
  std::unique_ptr<Graph> step_;
};

}  // namespace duet
