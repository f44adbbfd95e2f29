// One training step of a GPT as a Work.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "timing/work.h"
#include "training/gpt.h"
#include "training/timed_operations.h"

namespace duet {

// Each step trains on new random tokens: a repeated batch would be memorised, and draw less power.
class GptWork : public Work {
 public:
  GptWork(GptConfig config, Recipe recipe, AdamWOptions options = {});

  std::string name() const override { return "train"; }
  // The FLOP are TrainingFlop::model.
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  void renew(Rank& rank) override;
  // The loss of the last step must be near ln(vocabulary), which no model of random tokens beats,
  // and the first row of each parameter must have a gradient and have changed.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // The seconds of each part of a step whose operations are enqueued and timed one by one, without
  // a graph; between prepare() and release().
  std::array<double, kStepParts> time_parts(Rank& rank);

  // Of all that a step needs, with workspaces of GEMMs and attention; 0 before prepare().
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  void step(Stream& stream);
  void set_state(Rank& rank, const StepState& state) const;
  void require_loss(Rank& rank) const;
  void require_update(Rank& rank) const;
  void poison(Rank& rank) const;
  // What a step changes of a parameter: bf16 parameters may round to what they were, their moments
  // do not.
  static const Tensor& updated(const TrainedParameter& parameter);
  static std::vector<float> first_row(Rank& rank, const Tensor& tensor);

  GptConfig config_;
  Recipe recipe_;
  AdamWOptions options_;
  std::uint64_t renewals_ = 0;
  std::vector<std::vector<float>> before_;  // the first row of what a step updates, at renew()
  std::uint64_t memory_bytes_ = 0;
  std::unique_ptr<TimedOperations> operations_;
  std::unique_ptr<Gpt> model_;  // uses the operations
  std::unique_ptr<Graph> step_;
};

}  // namespace duet
