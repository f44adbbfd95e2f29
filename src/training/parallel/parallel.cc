#include "training/parallel/parallel.h"

#include "core/names.h"
#include "training/parallel/expert_step.h"
#include "training/parallel/gradient_buckets.h"
#include "training/parallel/sharded_step.h"
#include "training/parallel/tensor_step.h"

namespace duet {
namespace {

constexpr NamedValue<Parallel> kParallels[] = {{Parallel::none, "none"},
                                               {Parallel::ddp, "ddp"},
                                               {Parallel::zero3, "zero3"},
                                               {Parallel::tp, "tp"},
                                               {Parallel::ep, "ep"}};

// With its tensor group a rank makes the passes of one batch, with its data group it does what
// ranks do that each have a batch.
class GroupsStep : public ParallelStep {
 public:
  GroupsStep(const ParallelSettings& settings, Rank& rank, Model& model,
             const std::vector<ParameterRange>& ranges, const StreamOptions& options) {
    Rank in_tensor = settings.groups->tensor.rank(rank);
    tensor_ =
        std::make_unique<TensorStep>(in_tensor, *settings.groups->tensor.session(rank), model);
    Rank in_data = settings.groups->data.rank(rank);
    ParallelSettings of_data = settings;
    of_data.groups = nullptr;
    of_data.session = settings.groups->data.session(rank).get();
    data_ = make_parallel_step(of_data, in_data, model, ranges, options);
  }

  void forward(Stream& stream) override { data_->forward(stream); }
  void backward(Stream& stream, Accumulate gradients) override {
    data_->backward(stream, gradients);
    tensor_->sum_partial_gradients(stream);
  }
  void sum_squares(Stream& stream) override {
    data_->sum_squares(stream);
    tensor_->sum_squares(stream);
  }
  void communicate(Stream& stream) override {
    tensor_->communicate(stream);
    data_->communicate(stream);
  }
  void set_timeline(StepTimeline* timeline) override {
    tensor_->set_timeline(timeline);
    data_->set_timeline(timeline);
  }
  double wire_bytes() const override { return tensor_->wire_bytes() + data_->wire_bytes(); }
  std::map<std::string, std::string> notes() const override {
    std::map<std::string, std::string> notes = data_->notes();
    for (const auto& [what, text] : tensor_->notes()) {
      std::string& all = notes[what];
      all = all.empty() ? text : text + "; " + all;
    }
    return notes;
  }

 private:
  std::unique_ptr<TensorStep> tensor_;  // while it lives, passes exchange rows
  std::unique_ptr<ParallelStep> data_;
};

}  // namespace

const char* name(Parallel parallel) { return name_of(kParallels, parallel); }

Parallel parse_parallel(std::string_view text) {
  return parse_name(kParallels, "unknown way to train in parallel", text);
}

std::unique_ptr<ParallelStep> make_parallel_step(const ParallelSettings& settings, Rank& rank,
                                                 Model& model,
                                                 const std::vector<ParameterRange>& ranges,
                                                 const StreamOptions& options) {
  if (settings.groups != nullptr) {
    return std::make_unique<GroupsStep>(settings, rank, model, ranges, options);
  }
  if (settings.session == nullptr) return std::make_unique<AloneStep>(model);
  if (settings.kind == Parallel::zero3) {
    return std::make_unique<ShardedStep>(rank, *settings.session, model, options);
  }
  if (settings.kind == Parallel::tp) {
    return std::make_unique<TensorStep>(rank, *settings.session, model);
  }
  if (settings.kind == Parallel::ep) {
    return std::make_unique<ExpertStep>(rank, *settings.session, model, ranges,
                                        settings.bucket_bytes, options);
  }
  return std::make_unique<GradientBuckets>(rank, *settings.session, model, ranges,
                                           settings.bucket_bytes, options);
}

ModelShard shard_of(const ParallelSettings& settings, const Rank& rank) {
  const int ranks = tensor_ranks_of(settings, rank.size);
  if (settings.kind == Parallel::ep) {
    ModelShard shard;
    shard.experts = {rank.index, rank.size};
    return shard;
  }
  const TensorShard tensor{rank.index % ranks, ranks};
  if (settings.kind != Parallel::zero3) return tensor;
  return {Shard{rank.index / ranks, rank.size / ranks, settings.keep_gathered, settings.late_sums},
          tensor};
}

int tensor_ranks_of(const ParallelSettings& settings, int ranks) {
  return settings.kind == Parallel::tp ? ranks : settings.tensor_ranks;
}

int parts_of(const ParallelSettings& settings, int ranks) {
  return settings.kind == Parallel::ep ? ranks : tensor_ranks_of(settings, ranks);
}

}  // namespace duet
