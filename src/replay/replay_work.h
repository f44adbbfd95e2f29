// A step, or its GEMMs or collectives alone, as a Work.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collective_work.h"
#include "replay/replay_plans.h"
#include "timing/work.h"

namespace duet {

// Which calls a work makes. Of `overlapped` the collectives run on a stream of their own, each
// behind the GEMMs that were issued before it; later GEMMs wait for a collective where the step
// says so, and the end of the step for all. In all others calls run one after the other.
enum class ReplayOrder { serial, overlapped, gemms, collectives };
const char* name(ReplayOrder order);

class ReplayWork : public Work {
 public:
  // The plans must outlive the work. `graph`: as of CollectiveWork, a call is the step.
  ReplayWork(Team& team, ReplayPlans& plans, ReplayOrder order, const GraphUse& graph);

  std::string name() const override { return "replay"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int calls() const override { return graph_.launches > 0 ? graph_.launches * graph_.calls : 1; }
  bool host_driven() const override { return host_driven_ || calls_queued(queued()) == 0; }
  int most_queued() const override { return std::max(1, calls_queued(queued())); }
  void renew(Rank& rank) override;
  // Checks what the last GEMM and the last collective left; of serial and overlapped steps also
  // makes each distinct call once more and checks it.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

 private:
  struct OfRank {
    bool acquired = false;
    std::unique_ptr<Stream> side;                        // of collectives; null: not overlapped
    std::unique_ptr<Event> issued;                       // the GEMMs before a collective
    std::map<std::size_t, std::unique_ptr<Event>> done;  // so many collectives
    std::unique_ptr<Graph> graph;
  };

  OfRank& state(const Rank& rank) { return ranks_.at(static_cast<std::size_t>(rank.local)); }
  bool makes(ReplayCall::Kind kind) const;
  std::optional<std::size_t> last(ReplayCall::Kind kind) const;  // that it makes
  std::size_t queued() const;  // operations of an enqueue() in the launch queue
  void make_events(Rank& rank, OfRank& own, const Placement& placement);
  void capture_step(Rank& rank, OfRank& own, Stream& stream);
  void enqueue_step(const Rank& rank, OfRank& own, Stream& stream);
  void enqueue_collective(const Rank& rank, OfRank& own, std::size_t index, std::size_t number,
                          Stream& stream);
  void verify_each(Rank& rank);

  Team& team_;
  ReplayPlans& plans_;
  const ReplayOrder order_;
  const GraphUse graph_;
  std::vector<OfRank> ranks_;  // by local rank
  double wire_bytes_ = 0;
  bool host_driven_ = false;
  std::size_t graph_size_ = 0;
};

}  // namespace duet
