// One problem on one engine as a Work: random input, poisoned output, checked against the
// reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gemm/engine.h"
#include "timing/work.h"

namespace duet {

class GemmWork : public Work {
 public:
  // Every rank of a team of `ranks` multiplies matrices of its own.
  GemmWork(GemmEngine& engine, const GemmProblem& problem, const Tuning& tuning = {},
           int ranks = 1);

  std::string name() const override { return "gemm"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // What rank 0's plan chose; "" before prepare().
  const std::string& algorithm() const { return algorithm_; }

 private:
  struct RankOperands {  // a rank's
    Buffer a, b, c;
    std::uint64_t fills = 0;         // of the inputs, each with seeds of its own
    std::unique_ptr<GemmPlan> plan;  // uses the buffers: declared after them, freed before
  };

  RankOperands& operands(const Rank& rank) {
    return operands_.at(static_cast<std::size_t>(rank.index));
  }
  void fill_inputs(const Rank& rank, RankOperands& own, Stream& stream) const;
  void require_written(Device& device, const Span& c) const;
  void require_rows(Device& device, const GemmBuffers& buffers) const;

  GemmEngine& engine_;
  GemmProblem problem_;
  Tuning tuning_;
  std::vector<RankOperands> operands_;
  std::string algorithm_;
};

}  // namespace duet
