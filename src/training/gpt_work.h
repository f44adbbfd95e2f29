// One training step of a GPT as a Work.
#pragma once

#include <memory>
#include <string>

#include "timing/work.h"
#include "training/gpt.h"

namespace duet {

// Each step trains on new random tokens: a repeated batch would be memorised, and draw less power.
class GptWork : public Work {
 public:
  explicit GptWork(GptConfig config, AdamWOptions options = {});

  std::string name() const override { return "train"; }
  // The FLOP are TrainingFlop::model.
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  void renew(Rank& rank) override;
  // The loss of the last step must be near ln(vocabulary), which no model of random tokens beats.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // Of all that a step needs; 0 before prepare().
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  void set_state(Rank& rank, const StepState& state) const;

  GptConfig config_;
  AdamWOptions options_;
  std::uint64_t renewals_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<Gpt> model_;  // uses the operations
};

}  // namespace duet
