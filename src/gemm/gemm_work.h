// One GEMM on one engine as a Work. Inputs are random, the output is poisoned, and sampled rows are
// checked against the reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gemm/engine.h"
#include "timing/work.h"

namespace duet {

class GemmWork : public Work {
 public:
  // Each of the team's `ranks` ranks multiplies matrices of its own. The engine must outlive the
  // Work.
  GemmWork(GemmEngine& engine, const GemmProblem& problem, const Tuning& tuning = {},
           int ranks = 1);

  std::string name() const override { return "gemm"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // The algorithm of rank 0's plan; "" before prepare().
  const std::string& algorithm() const { return algorithm_; }

 private:
  struct RankOperands {
    Buffer a, b, c, aux;
    std::uint64_t fills = 0;  // how often the inputs were filled; each time with new seeds
    std::unique_ptr<GemmPlan> plan;
    std::vector<double> initial;  // the sampled rows of C before the call; if it accumulates

    GemmBuffers buffers() const {
      GemmBuffers all{a.span(), b.span(), c.span()};
      if (aux.bytes() > 0) all.aux = aux.span();
      return all;
    }
  };

  RankOperands& operands(const Rank& rank) {
    return operands_.at(static_cast<std::size_t>(rank.index));
  }
  void keep_initial(const Rank& rank, RankOperands& own) const;
  void fill_inputs(const Rank& rank, RankOperands& own, Stream& stream) const;

  GemmEngine& engine_;
  GemmProblem problem_;
  Tuning tuning_;
  std::vector<RankOperands> operands_;
  std::string algorithm_;
};

}  // namespace duet
