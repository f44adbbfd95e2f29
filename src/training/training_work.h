// One training step of a model, on one or several ranks, as a Work.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "timing/work.h"
#include "training/models/model.h"
#include "training/operations/forked_stream.h"
#include "training/operations/operations.h"
#include "training/parallel/parallel.h"

namespace duet {

// When a step updates its parameters: after the backward pass, or beside it.
enum class UpdateOrder { after, beside };
const char* name(UpdateOrder order);
UpdateOrder parse_update_order(std::string_view text);  // throws UsageError

// How a model is trained.
struct StepSettings {
  Recipe recipe;
  Optimizer optimizer = {};
  std::int64_t accumulate = 1;  // batches whose gradients a step adds up, above 1 in fp32
  UpdateOrder order = UpdateOrder::after;
  OperationsOptions operations = {};
};

// Each step trains on new random input: a repeated batch would be memorised, and draw less power.
// Every rank of the team has a batch of its own, but for tp, whose ranks have the same.
class TrainingWork : public Work {
 public:
  // The team and the session must outlive the work.
  TrainingWork(Team& team, ModelDescription description, StepSettings settings,
               const ParallelSettings& parallel = {});

  std::string name() const override { return "train"; }
  Cost cost() const override;  // wire bytes are known after prepare()
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int most_queued() const override;
  // Where one step alone may fill the launch queue.
  bool host_driven() const override;
  void renew(Rank& rank) override;
  // The loss of the last step must be near an untrained model's, which no model of random targets
  // beats; of each parameter, what the rank keeps must begin with a gradient and have changed; and
  // what ranks that communicate have in common must be the same.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // The seconds of each part of a rank's step whose operations are enqueued and timed one by one,
  // without a graph and without communication; between prepare() and release().
  std::array<double, kStepParts> time_parts(Rank& rank);
  // When the operations of a rank's step ran, what it communicated beside them ("all_gather"), and
  // how long they waited for that ("wait"): as time_parts(), but with communication. Collective,
  // inside each(); between prepare() and release().
  std::vector<StepTimeline::Part> time_step(Rank& rank);
  // The seconds of a step's communication with nothing beside it. Collective, inside each();
  // between prepare() and release(). 0 where there is none.
  double time_communication(Rank& rank);

  // What a rank's step needs by kind ("activations", "gemm and attention"); empty before prepare().
  const std::map<std::string, std::uint64_t>& memory() const { return known_.memory; }
  // Operations::notes(), and ParallelStep::notes().
  const std::map<std::string, std::string>& notes() const { return known_.notes; }
  // Of all that a rank's step needs; 0 before prepare().
  std::uint64_t memory_bytes() const;

 private:
  struct RankState {  // of a local rank
    std::unique_ptr<Operations> operations;
    std::unique_ptr<Model> model;  // uses the operations
    std::unique_ptr<ForkedStream> updates;
    std::unique_ptr<ParallelStep> parallel;
    std::unique_ptr<Graph> step;
    std::uint64_t renewals = 0;
    std::vector<std::vector<float>> before;  // where what a step updates begins, at renew()
  };
  struct KnownOfRanks {
    double wire_bytes = 0;       // of all ranks
    std::size_t graph_size = 1;  // of a step's graph, the largest of all ranks
    // Of the first local rank.
    std::map<std::string, std::uint64_t> memory;
    std::map<std::string, std::string> notes;
  };

  RankState& state(const Rank& rank) { return states_[static_cast<std::size_t>(rank.local)]; }
  void make_model(Rank& rank, RankState& own) const;
  std::vector<ParameterRange> first_step(Rank& rank, RankState& own, Stream& stream) const;
  void learn(Rank& rank, const RankState& own);
  void begin_anew(Rank& rank, const RankState& own) const;
  StepState first_state() const;
  void set_state(Rank& rank, const RankState& own, const StepState& state) const;
  bool communicates() const { return parallel_.communicates(); }
  // All of a step before the last batch's backward pass.
  void enqueue_begin(Rank& rank, RankState& own, ParallelStep& passes, Stream& stream) const;
  Accumulate last_gradients() const {
    return settings_.accumulate > 1 ? Accumulate::yes : Accumulate::no;
  }
  void enqueue_step(Rank& rank, RankState& own, Stream& stream) const;
  // With the update after the backward pass.
  void enqueue_in_order(Rank& rank, RankState& own, ParallelStep& passes, Stream& stream) const;
  void require_loss(Rank& rank, const RankState& own) const;
  void require_update(Rank& rank, const RankState& own) const;
  void require_same_parameters(Rank& rank, const RankState& own) const;
  void poison(Rank& rank, const RankState& own) const;
  // What a step changes of a parameter: bf16 parameters may round to what they were, their moments
  // do not.
  static const Tensor& updated(const OptimizerTensors& tensors);
  // The first elements of a row, at most all of it.
  static std::vector<float> first_elements(Rank& rank, const Tensor& tensor,
                                           std::int64_t from_row = 0);

  Team& team_;
  ModelDescription description_;
  StepSettings settings_;
  ParallelSettings parallel_;
  std::vector<RankState> states_;
  KnownOfRanks known_;
};

}  // namespace duet
