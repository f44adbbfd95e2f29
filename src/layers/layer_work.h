// One operation of a tensor-parallel layer as a Work: on every rank a multiplication, and a
// collective before, between or behind it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/collective_work.h"
#include "gemm/engine.h"
#include "layers/operation.h"
#include "timing/work.h"

namespace duet {

// How an operation is made.
struct LayerWay {
  CollectiveSession* session = nullptr;  // nullptr: the multiplication alone, with its input there
  int ranges = 0;                        // MatrixRows; 0: one after the other
  RowSums sums = RowSums::by_compute;
  GraphUse graph;
};

class LayerWork : public Work {
 public:
  // The team, the engine and the session must outlive the Work.
  LayerWork(Team& team, GemmEngine& gemm, const LayerOperation& operation, const LayerWay& way,
            const Tuning& tuning);

  std::string name() const override { return "layer"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int calls() const override { return way_.graph.launches > 0 ? way_.graph.launches : 1; }
  bool host_driven() const override { return host_driven_; }
  int most_queued() const override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // Of rank 0, after prepare(): of the collective, "" without one; and of the multiplication of the
  // most rows.
  const std::string& algorithm() const { return algorithm_; }
  const std::string& gemm_algorithm() const { return gemm_algorithm_; }

 private:
  using GemmKey = std::pair<std::uint64_t, bool>;  // rows, and whether they are added
  struct RankState {
    // X, W and Y or partial sums of it; of gemm_scatter the rank's rows of Y are apart.
    std::unique_ptr<CollectiveMemory> x, y, scattered;
    Buffer weight;
    CollectiveBuffers buffers;
    std::unique_ptr<CollectivePlan> plan;  // null: no collective
    std::map<GemmKey, std::unique_ptr<GemmPlan>> gemms;
    std::unique_ptr<Graph> graph;
    std::uint64_t fills = 0;
  };

  RankState& state(const Rank& rank) { return states_.at(static_cast<std::size_t>(rank.local)); }
  bool gathers() const { return operation_.kind == LayerKind::gather_gemm; }
  std::uint64_t x_bytes() const;
  std::uint64_t y_bytes() const;
  std::uint64_t weight_bytes() const;
  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) const;
  void allocate_all(Rank& rank, RankState& own) const;
  void plan_gemms(Rank& rank, RankState& own, Stream& stream) const;
  void capture_calls(RankState& own, Stream& stream) const;
  GemmProblem problem(const GemmKey& key) const;
  GemmBuffers operands(const RankState& own, const CallRows& rows) const;
  // Rows from the first one on, where they stand as a whole.
  CallRows first_rows(const RankState& own, std::uint64_t count) const;
  CallRows all_rows(const RankState& own) const;
  void enqueue_call(const RankState& own, Stream& stream) const;
  void fill_x(const Span& x, int rank, std::uint64_t fills, Stream& stream) const;
  void fill_weight(const Span& weight, int rank, std::uint64_t fills, Stream& stream) const;
  Fill input(const char* what, int rank, std::uint64_t fills) const;
  void fill(Rank& rank, RankState& own, Stream& stream) const;
  std::vector<std::int64_t> sampled(int rank) const;
  struct Expected {
    std::vector<double> values, allowed;
  };
  Expected expected(Rank& rank, const RankState& own, const std::vector<std::int64_t>& rows) const;

  Team& team_;
  GemmEngine& gemm_;
  const LayerOperation operation_;
  const LayerWay way_;
  const Tuning tuning_;
  const GemmProblem problem_;  // of all rows
  const Collective collective_;
  std::vector<RankState> states_;  // by local rank
  double wire_bytes_ = 0;
  bool host_driven_ = false;
  std::string algorithm_, gemm_algorithm_;
};

}  // namespace duet
