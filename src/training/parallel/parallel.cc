#include "training/parallel/parallel.h"

#include "core/names.h"
#include "training/parallel/gradient_buckets.h"
#include "training/parallel/sharded_step.h"
#include "training/parallel/tensor_step.h"

namespace duet {
namespace {

constexpr NamedValue<Parallel> kParallels[] = {{Parallel::none, "none"},
                                               {Parallel::ddp, "ddp"},
                                               {Parallel::zero3, "zero3"},
                                               {Parallel::tp, "tp"}};

}  // namespace

const char* name(Parallel parallel) { return name_of(kParallels, parallel); }

Parallel parse_parallel(std::string_view text) {
  return parse_name(kParallels, "unknown way to train in parallel", text);
}

std::unique_ptr<ParallelStep> make_parallel_step(const ParallelSettings& settings, Rank& rank,
                                                 Model& model,
                                                 const std::vector<ParameterRange>& ranges,
                                                 const StreamOptions& options) {
  if (settings.session == nullptr) return std::make_unique<AloneStep>(model);
  if (settings.kind == Parallel::zero3) {
    return std::make_unique<ShardedStep>(rank, *settings.session, model, options);
  }
  if (settings.kind == Parallel::tp) {
    return std::make_unique<TensorStep>(rank, *settings.session, model);
  }
  return std::make_unique<GradientBuckets>(rank, *settings.session, model, ranges,
                                           settings.bucket_bytes, options);
}

ModelShard shard_of(const ParallelSettings& settings, const Rank& rank) {
  if (settings.kind == Parallel::tp) return TensorShard{rank.index, rank.size};
  if (settings.kind != Parallel::zero3) return {};
  return Shard{rank.index, rank.size, settings.keep_gathered, settings.late_sums};
}

std::int64_t batches_of(Parallel kind, std::int64_t ranks) {
  return kind == Parallel::tp ? 1 : ranks;
}

}  // namespace duet
