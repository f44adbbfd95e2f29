// Operations of a tensor-parallel layer, one behind the other, as a Work.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/linear.h"
#include "timing/work.h"
#include "training/operations/operations.h"

namespace duet {

class LayerWork : public Work {
 public:
  // The team, the engine and the session must outlive the Work.
  LayerWork(Team& team, GemmEngine& gemm, const Layer& layer, const LayerWay& way,
            const Tuning& tuning);

  std::string name() const override { return "layer"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int calls() const override {
    return way_.graph.launches > 0 ? way_.graph.launches * way_.graph.calls : 1;
  }
  bool host_driven() const override { return host_driven_ || calls_queued(operations()) == 0; }
  int most_queued() const override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // When a rank multiplied in one call, that is enqueued and not captured, behind other calls.
  struct Times {
    std::vector<double> gemms;  // begin, end, begin, end ... in seconds from the call's begin
    double end = 0;             // of the call
  };
  // Of all ranks; between prepare() and release(). Collective, inside each().
  std::vector<Times> time_call(Rank& rank);

  // Of rank 0 and the first operation, after prepare(): of the collective, "" without one; and of
  // the multiplication of the most rows.
  const std::string& algorithm() const { return algorithm_; }
  const std::string& gemm_algorithm() const { return gemm_algorithm_; }

 private:
  struct RankState {
    std::vector<LayerLinear> linears;
    std::unique_ptr<Operations> operations;  // null: no activation
    std::unique_ptr<Graph> graph;
    std::uint64_t fills = 0;
  };

  std::size_t operations() const;  // that an enqueue() puts into the launch queue
  void capture_calls(Rank& rank, RankState& own, Stream& stream);
  RankState& state(const Rank& rank) { return states_.at(static_cast<std::size_t>(rank.local)); }
  SwiGlu activation(const RankState& own) const;
  void enqueue_call(const RankState& own, Stream& stream, StepTimeline* timeline = nullptr) const;
  void verify_activation(Rank& rank, const RankState& own) const;

  Team& team_;
  GemmEngine& gemm_;
  const Layer layer_;
  const LayerWay way_;
  const Tuning tuning_;
  std::vector<RankState> states_;  // by local rank
  double wire_bytes_ = 0;
  bool host_driven_ = false;
  std::size_t graph_size_ = 0;
  std::string algorithm_, gemm_algorithm_;
};

}  // namespace duet
