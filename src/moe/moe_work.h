// A mixture-of-experts layer of a team as a Work.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/collective_work.h"
#include "moe/moe_layer.h"
#include "timing/work.h"

namespace duet {

// Routings that calls take in turns, so that no cache knows the one that is measured.
class MoeRoutings {
 public:
  // Collective among processes; called outside of Team::each().
  MoeRoutings(const TokenRouting& routing, const MoeShape& shape, int count, Team& team);

  std::size_t count() const { return routed_.size(); }
  const MoeShape& shape() const { return routed_.front()->shape; }
  const NodeMap& nodes() const { return nodes_; }
  double dropped_share() const;  // of the choices of all routings
  // What routing `number` asks of a local rank. Not called by two threads at a time.
  MoeCall call(std::size_t number, ExchangeKind kind, int local) const;
  const std::shared_ptr<const ExchangedRows>& rows(std::size_t number, ExchangeKind kind) const;

 private:
  NodeMap nodes_;
  std::vector<std::shared_ptr<const RoutedTokens>> routed_;
  std::vector<std::vector<std::vector<float>>> logits_;  // by routing and local rank
  mutable std::map<std::pair<std::size_t, ExchangeKind>, std::shared_ptr<const ExchangedRows>>
      rows_;  // those that were asked for
};

// How rows move.
struct MoeWay {
  CollectiveSession* session = nullptr;  // nullptr: not at all, the experts' rows are there
  ExchangeKind exchange = ExchangeKind::all_gather;
  MoeOverlap overlap = MoeOverlap::none;
  GraphUse graph = {};
  MoeCounts counts = MoeCounts::known;  // host: without a graph
};

class MoeWork : public Work {
 public:
  // Routings are of the tokens of one batch; a call takes as many of them as it has batches. The
  // team, the session and the routings must outlive the Work.
  MoeWork(Team& team, const MoeRoutings& routings, const MoeWay& way, const Tuning& tuning);

  std::string name() const override { return "moe"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int calls() const override {
    return way_.graph.launches > 0 ? way_.graph.launches * way_.graph.calls : 1;
  }
  bool host_driven() const override { return host_driven_ || calls_queued(operations()) == 0; }
  int most_queued() const override { return std::max(1, calls_queued(operations())); }
  void renew(Rank& rank) override;
  // Also makes the last call once more, whose result must have the same bits.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // Of each phase of the call, of all batches together, the median time of some calls, enqueued one
  // by one, of the rank that takes longest; between prepare() and release(). Collective, inside
  // each().
  std::vector<std::pair<std::string, double>> time_phases(Rank& rank);

  std::size_t batches() const { return batches_of(way_.overlap); }
  const MoeShape& shape() const { return routings_.shape(); }  // of a batch
  const NodeMap& nodes() const { return routings_.nodes(); }
  // Of a batch of the first call.
  const ExchangedRows& rows(std::size_t batch) const {
    return *routings_.rows(batch, way_.exchange);
  }
  const std::string& algorithm() const { return algorithm_; }  // of rank 0, after prepare()
  const std::string& gemm_algorithm() const { return gemm_algorithm_; }

 private:
  struct RankState {
    std::unique_ptr<Operations> operations;
    std::unique_ptr<MoeWeights> weights;
    std::vector<std::unique_ptr<MoeMemory>> memory;  // by batch
    std::vector<std::unique_ptr<MoeLayer>> layers;   // by routing, of a call one behind the other
    std::unique_ptr<MoeStageRunner> runner;
    std::unique_ptr<Graph> graph;
    std::size_t next = 0;  // the next call's first routing
    std::uint64_t fills = 0;
  };

  RankState& state(const Rank& rank) { return states_.at(static_cast<std::size_t>(rank.local)); }
  std::size_t operations() const;  // that an enqueue() puts into the launch queue
  void enqueue_call(RankState& own, Stream& stream, StepTimeline* timeline = nullptr) const;
  // The layers of the call before the next one, by batch.
  std::vector<const MoeLayer*> last(const RankState& own) const;
  // Makes the last call once more.
  void verify_repeated(Rank& rank, const std::vector<const MoeLayer*>& layers);
  void capture_calls(RankState& own, Stream& stream);

  Team& team_;
  const MoeRoutings& routings_;
  const MoeWay way_;
  const Tuning tuning_;
  std::vector<std::vector<MoeCall>> calls_;  // by local rank and routing
  std::vector<RankState> states_;            // by local rank
  double wire_bytes_ = 0;
  bool host_driven_ = false;
  std::size_t queued_ = 0;
  std::string algorithm_, gemm_algorithm_;
};

}  // namespace duet
