#include "training/parallel/parallel.h"

#include "core/names.h"
#include "training/parallel/gradient_buckets.h"
#include "training/parallel/sharded_step.h"

namespace duet {
namespace {

constexpr NamedValue<Parallel> kParallels[] = {
    {Parallel::none, "none"}, {Parallel::ddp, "ddp"}, {Parallel::zero3, "zero3"}};

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
  return std::make_unique<GradientBuckets>(rank, *settings.session, model, ranges,
                                           settings.bucket_bytes, options);
}

std::optional<Shard> shard_of(const ParallelSettings& settings, const Rank& rank) {
  if (settings.kind != Parallel::zero3) return std::nullopt;
  return Shard{rank.index, rank.size, settings.keep_gathered, settings.late_sums};
}

}  // namespace duet
