#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/engine.h"
#include "collectives/group_sessions.h"
#include "training/models/model.h"
#include "training/operations/step_timeline.h"

namespace duet {

// How the ranks of a team train one model together. Each has a batch of its own, but for tp.
// With ddp and zero3 a rank may be a tensor group: consecutive ranks that share a batch and divide
// its products, as the ranks of tp do. Ranks of equal number in their tensor groups are a data
// group: they have the same parts of the model, and sum gradients, or divide those parts.
enum class Parallel {
  none,   // the first device alone
  ddp,    // every rank has the whole model, and gradients are summed (gradient_buckets.h)
  zero3,  // ranks divide the model among themselves (sharded_step.h)
  tp,     // ranks divide each product, of one batch (tensor_step.h)
  ep,     // as ddp, but ranks divide each layer's experts (expert_step.h)
};
const char* name(Parallel parallel);
Parallel parse_parallel(std::string_view text);  // throws UsageError

// The passes of one rank's model, and the communication with other ranks beside them. All ranks
// make the same calls, which can be captured if the session's can.
class ParallelStep {
 public:
  virtual ~ParallelStep() = default;
  // Each enqueues a pass on `stream`, and its communication on another stream; later work of
  // `stream` runs after both.
  virtual void forward(Stream& stream) = 0;
  // The last backward pass of a step: writes its gradients, or adds them to those of earlier
  // batches, and sums them over ranks.
  virtual void backward(Stream& stream, Accumulate gradients) = 0;
  // Of Model::clip(): the sum of the squares of gradients becomes that of the whole model.
  virtual void sum_squares(Stream& stream) = 0;
  // The communication of both passes without the passes, on whatever the memory contains.
  virtual void communicate(Stream& stream) = 0;
  // As that of a ForkedStream.
  virtual void set_timeline(StepTimeline* timeline) = 0;

  virtual double wire_bytes() const = 0;  // that leave this rank in one step; 0: not known
  // For the journal: "algorithm" of the largest call, and how many calls there are.
  virtual std::map<std::string, std::string> notes() const = 0;
};

// While it lives, a model's passes exchange rows by `exchange`.
class WithExchange {
 public:
  WithExchange(Model& model, RowExchange* exchange)
      : model_(model), before_(model.set_exchange(exchange)) {}
  ~WithExchange() { model_.set_exchange(before_); }
  WithExchange(const WithExchange&) = delete;
  WithExchange& operator=(const WithExchange&) = delete;

 private:
  Model& model_;
  RowExchange* before_;
};

// The passes without communication: for one rank, or to measure what communication costs.
class AloneStep : public ParallelStep {
 public:
  explicit AloneStep(Model& model) : model_(model), alone_(model, nullptr) {}
  void forward(Stream& stream) override { model_.forward(stream); }
  void backward(Stream& stream, Accumulate gradients) override {
    model_.backward(stream, gradients);
  }
  void sum_squares(Stream&) override {}
  void communicate(Stream&) override {}
  void set_timeline(StepTimeline*) override {}
  double wire_bytes() const override { return 0; }
  std::map<std::string, std::string> notes() const override { return {}; }

 private:
  Model& model_;
  WithExchange alone_;
};

// The sessions of tensor groups and data groups.
struct ParallelGroups {
  // As GroupSessions. `tensor_ranks` divides the team's.
  ParallelGroups(Team& team, int tensor_ranks, CollectiveEngine& engine)
      : tensor(team, consecutive_groups(team.size(), tensor_ranks), engine),
        data(team, strided_groups(team.size(), tensor_ranks), engine) {}

  GroupSessions tensor, data;
};

struct ParallelSettings {
  Parallel kind = Parallel::none;
  // nullptr, and no groups: no communication. A step then takes the time that it would take if
  // communication cost nothing, and its results are not valid.
  CollectiveSession* session = nullptr;
  std::uint64_t bucket_bytes = 25u << 20;  // ddp and ep: see GradientBuckets
  // zero3: blocks that were gathered for the forward pass stay for the backward pass.
  bool keep_gathered = false;
  // zero3: gradients are sent to their ranks beside the backward pass, and summed behind it.
  bool late_sums = false;
  // ddp and zero3: the ranks of a tensor group, and, if these are several, the groups' sessions
  // instead of one of all ranks.
  int tensor_ranks = 1;
  ParallelGroups* groups = nullptr;

  bool communicates() const { return session != nullptr || groups != nullptr; }
};

// `ranges`: in the order in which the model's backward pass completes gradients; `options`: of the
// stream that communicates. With a session this is collective, as CollectiveSession::plan() is. The
// model must have its memory, for zero3, tp and ep that of shard_of(). Model and session must
// outlive the result.
std::unique_ptr<ParallelStep> make_parallel_step(const ParallelSettings& settings, Rank& rank,
                                                 Model& model,
                                                 const std::vector<ParameterRange>& ranges,
                                                 const StreamOptions& options);
// What the rank has of the model.
ModelShard shard_of(const ParallelSettings& settings, const Rank& rank);
// Of so many ranks: how many divide the products of one batch.
int tensor_ranks_of(const ParallelSettings& settings, int ranks);
// Of so many ranks: how many have parts of the model that differ, but for those that zero3 gathers.
int parts_of(const ParallelSettings& settings, int ranks);
// How many batches so many ranks have at a time.
inline std::int64_t batches_of(const ParallelSettings& settings, int ranks) {
  return ranks / tensor_ranks_of(settings, ranks);
}
// Which of them is this rank's.
inline std::int64_t batch_of(const ParallelSettings& settings, const Rank& rank) {
  return rank.index / tensor_ranks_of(settings, rank.size);
}

}  // namespace duet
