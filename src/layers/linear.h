// One operation of a layer on one rank: its matrices, the multiplication of their rows, and the
// collective before, between or behind it; or, without a multiplication, the collective of partial
// sums that are there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/collective_work.h"
#include "collectives/engine.h"
#include "gemm/engine.h"
#include "layers/operation.h"
#include "layers/residual_norm.h"
#include "training/operations/step_timeline.h"

namespace duet {

inline constexpr double kLayerDeadline = 120;  // seconds for any wait outside the samples

// How operations are made.
struct LayerWay {
  CollectiveSession* session = nullptr;  // nullptr: multiplications alone, with their input there
  int ranges = 0;                        // MatrixRows; 0: one after the other
  RowSums sums = RowSums::by_compute;
  int streams = 1;
  GraphUse graph;
  // The multiplications of these ranges, one behind the other, without the collective.
  bool cut_only = false;
  bool joined = false;  // MatrixRows, of what is gathered
};

class LayerLinear {
 public:
  // Collective: allocates and plans. `seed`: of its inputs, the same on all ranks; `makes_input`:
  // whether somebody else makes X of a sum. The engine and the session must outlive it.
  LayerLinear(Rank& rank, GemmEngine& gemm, const LayerOperation& operation, const LayerWay& way,
              const Tuning& tuning, std::uint64_t seed, bool makes_input);

  // `timeline`: each multiplication is a part of it, beside its stream.
  void enqueue(Stream& stream, StepTimeline* timeline = nullptr) const;
  // New inputs, number `fills`; what comes from other ranks or is made is not there.
  void fill(const Rank& rank, std::uint64_t fills, Stream& stream) const;
  // Blocking, while no rank is in a call.
  void poison_staging() const;

  // All of X and of what is multiplied of it, before the sum over ranks.
  Span x() const { return x_->span(); }
  Span y() const { return y_->span(); }
  const GemmProblem& problem() const { return problem_; }  // of all rows

  std::optional<Skipped> unverifiable() const;
  // Collective: compares some rows of the last call with products in double. Throws Mismatch.
  void verify(Rank& rank) const;

  double wire_bytes() const { return plan_ != nullptr ? plan_->wire_bytes() : 0; }
  bool host_driven() const { return plan_ != nullptr && plan_->host_driven(); }
  std::string algorithm() const { return plan_ != nullptr ? plan_->algorithm() : ""; }
  // Of the multiplication of the most rows; "" without one.
  std::string gemm_algorithm() const {
    return gemms_.empty() ? "" : gemms_.rbegin()->second->algorithm();
  }

 private:
  using GemmKey = std::tuple<std::uint64_t, bool, int>;  // rows, whether they are added, the stream

  bool gathers() const { return operation_.kind == LayerKind::gather_gemm; }
  bool communicates() const { return way_.session != nullptr; }
  bool is_computed(const Rank& rank) const;
  bool multiplies() const { return duet::multiplies(operation_.kind); }
  void allocate(Rank& rank);
  void plan_gemms(Rank& rank, GemmEngine& gemm, const Tuning& tuning);
  int alignment_of_all() const;
  static GemmKey key_of(const CallRows& rows) { return {rows.rows.count, rows.adds, rows.stream}; }
  GemmBuffers operands(const CallRows& rows) const;
  // Rows from the first one on, where they stand as a whole.
  CallRows first_rows(std::uint64_t count) const;
  Fill input(const char* what, int rank, std::uint64_t fills) const;
  std::vector<std::int64_t> sampled(int of) const;
  void verify_gathered(Rank& rank) const;
  void verify_products(Rank& rank) const;
  std::vector<double> products(Rank& rank, const std::vector<std::int64_t>& rows) const;
  double size_of_row(Device& device, std::int64_t row) const;
  struct Expected {
    std::vector<double> values, allowed;
  };
  Expected expected(Rank& rank, const std::vector<std::int64_t>& rows) const;

  const LayerOperation operation_;
  const LayerWay way_;
  const int ranks_;
  const GemmProblem problem_;
  // False on a simulated machine, whose times do not depend on contents: buffers have none then.
  const bool is_computed_;
  Collective collective_;
  const std::uint64_t seed_;
  const bool makes_input_;
  // X and Y, or the rank's partial sums of Y; of gemm_scatter its rows of Y are apart. Without a
  // multiplication `x` has the partial sums.
  std::unique_ptr<CollectiveMemory> x_, y_, scattered_;
  std::optional<ResidualNorm> norm_;
  Buffer weight_;
  CollectiveBuffers buffers_;
  std::unique_ptr<CollectivePlan> plan_;  // null: no collective
  std::map<GemmKey, std::unique_ptr<GemmPlan>> gemms_;
  std::vector<CallRows> cut_;  // what a call multiplies
};

}  // namespace duet
