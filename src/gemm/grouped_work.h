// A grouped GEMM on one engine as a Work. Inputs are random, the output is poisoned, and sampled
// rows of every group are checked against the reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gemm/grouped.h"
#include "timing/work.h"

namespace duet {

class GroupedGemmWork : public Work {
 public:
  // Of the team's only rank. The engine must outlive the Work.
  GroupedGemmWork(GroupedGemmEngine& engine, GroupedGemmProblem problem, const Tuning& tuning = {});

  std::string name() const override { return "grouped gemm"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  bool host_driven() const override { return plan_ != nullptr && plan_->blocks(); }
  int most_queued() const override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  const std::string& algorithm() const { return algorithm_; }  // "" before prepare()

 private:
  GemmBuffers buffers() const { return {a_.span(), b_.span(), c_.span()}; }
  void fill_inputs(Stream& stream);

  GroupedGemmEngine& engine_;
  GroupedGemmProblem problem_;
  Tuning tuning_;
  Buffer a_, b_, c_;
  std::uint64_t fills_ = 0;  // how often the inputs were filled; each time with new seeds
  std::unique_ptr<GroupedGemmPlan> plan_;
  std::string algorithm_;
};

}  // namespace duet
