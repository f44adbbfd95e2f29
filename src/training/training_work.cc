#include "training/training_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/names.h"
#include "core/packing.h"
#include "timing/statistics.h"
#include "timing/work.h"

namespace duet {
namespace {

constexpr double kPreparationSeconds = 600;
constexpr double kLearningRate = 1e-4;
// Of the step that is verified by SGD, whose usual steps are too small to show in bf16.
constexpr double kVisibleLearningRate = 1;
constexpr std::uint64_t kSeed = 1;
// The share of a device's memory that a model may fill: GEMMs, attention and the driver want some.
constexpr double kUsableMemory = 0.96;
constexpr int kTimedCommunications = 5;
constexpr std::int64_t kMostElements = 1 << 14;  // that are looked at, of a tensor
// The loss may differ by so much: weights follow the last targets for a while.
constexpr double kLossDifference = 1;

constexpr NamedValue<UpdateOrder> kOrders[] = {{UpdateOrder::after, "after"},
                                               {UpdateOrder::beside, "beside"}};

// Read and written for each parameter: the gradient, moments, and what is updated.
double optimizer_bytes(const Recipe& recipe, OptimizerKind kind) {
  const auto size = [](DType dtype) { return static_cast<double>(size_of(dtype)); };
  const double moments = kind == OptimizerKind::adamw ? 4 * size(recipe.moments) : 0;
  const double updated =
      recipe.master ? 2 * size(DType::fp32) + size(recipe.compute) : 2 * size(recipe.compute);
  return size(recipe.gradients) + moments + updated;
}

// Of a model that MemoryPlan refuses to plan.
constexpr std::uint64_t kMoreThanPlanned = std::numeric_limits<std::uint64_t>::max();

double gigabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

std::string memory_text(std::uint64_t bytes) {
  return bytes == kMoreThanPlanned ? "more than 1 EiB" : fmt::format("{:.1f} GB", gigabytes(bytes));
}

}  // namespace

const char* name(UpdateOrder order) { return name_of(kOrders, order); }

UpdateOrder parse_update_order(std::string_view text) {
  return parse_name(kOrders, "unknown order of the update", text);
}

TrainingWork::TrainingWork(Team& team, ModelDescription description, StepSettings settings,
                           const ParallelSettings& parallel)
    : team_(team),
      description_(std::move(description)),
      settings_(std::move(settings)),
      parallel_(parallel),
      states_(static_cast<std::size_t>(team.local_size())) {
  if (settings_.accumulate > 1) settings_.recipe.gradients = DType::fp32;
}

Cost TrainingWork::cost() const {
  const Recipe& recipe = settings_.recipe;
  Cost cost = description_.cost;
  cost.memory_bytes = description_.elements_moved * static_cast<double>(size_of(recipe.compute));
  const double batches = static_cast<double>(batches_of(parallel_, team_.size()));
  cost = times(cost, static_cast<double>(settings_.accumulate) * batches);
  const double models = parallel_.kind == Parallel::zero3 ? 1 : batches;
  double updated = models * description_.trained_parameters;
  if (parallel_.kind == Parallel::ep) updated -= (models - 1) * description_.expert_parameters;
  cost.memory_bytes += updated * optimizer_bytes(recipe, settings_.optimizer.kind);
  cost.wire_bytes = known_.wire_bytes;
  return cost;
}

// The update takes the mean over all batches of all ranks.
StepState TrainingWork::first_state() const {
  const std::int64_t summed = communicates() ? batches_of(parallel_, team_.size()) : 1;
  return {0, kSeed, kLearningRate, 1 / static_cast<double>(settings_.accumulate * summed)};
}

void TrainingWork::set_state(Rank& rank, const RankState& own, const StepState& state) const {
  if (!rank.device.has_contents(own.model->state())) return;
  rank.device.write(own.model->state(), &state);
}

// Runs one step, which makes the plans of all GEMMs, captures a step, and begins anew.
void TrainingWork::prepare(Rank& rank, const Placement& placement) {
  RankState& own = state(rank);
  rank.team.free_retired(rank);  // memory of earlier plans
  own.operations = make_operations(rank.device, settings_.operations);
  make_model(rank, own);
  begin_anew(rank, own);
  own.updates = std::make_unique<ForkedStream>(rank.device, StreamOptions{});
  const int above_updates = placement.priority + 1;
  const auto stream = rank.device.make_stream({above_updates, placement.units});
  const std::vector<ParameterRange> ranges = first_step(rank, own, *stream);
  own.parallel =
      make_parallel_step(parallel_, rank, *own.model, ranges, StreamOptions{above_updates + 1});
  own.parallel->communicate(*stream);  // a first call may load kernels or connect ranks
  stream->synchronize(kPreparationSeconds);
  own.step = capture(*stream, [&] { enqueue_step(rank, own, *stream); });
  learn(rank, own);
  begin_anew(rank, own);
}

// Without communication. Returns the order in which gradients are complete.
std::vector<ParameterRange> TrainingWork::first_step(Rank& rank, RankState& own,
                                                     Stream& stream) const {
  std::vector<ParameterRange> ranges;
  AloneStep alone(*own.model);
  enqueue_begin(rank, own, alone, stream);
  own.model->backward(stream, last_gradients(),
                      [&](const ParameterRange& range) { ranges.push_back(range); });
  own.model->update(stream);
  stream.synchronize(kPreparationSeconds);
  return ranges;
}

// All ranks with the same parameters.
void TrainingWork::begin_anew(Rank& rank, const RankState& own) const {
  own.model->initialise(kSeed);
  set_state(rank, own, first_state());
}

// Gathers what all ranks need to know: a barrier too, so that no rank begins before all are ready.
void TrainingWork::learn(Rank& rank, const RankState& own) {
  const auto all = rank.team.gather(
      rank, pack({fmt::format("{}", own.parallel->wire_bytes()), std::to_string(own.step->size())}),
      "the other ranks to have prepared", kPreparationSeconds);
  if (rank.local > 0) return;
  known_ = {};
  for (const std::string& each : *all) {
    const std::vector<std::string> fields = unpack(each);
    known_.wire_bytes += std::stod(fields.at(0));
    known_.graph_size = std::max<std::size_t>(known_.graph_size, std::stoull(fields.at(1)));
  }
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    const auto kind = static_cast<MemoryUse>(use);
    const std::uint64_t bytes = own.model->memory().bytes(kind);
    if (bytes > 0) known_.memory[duet::name(kind)] = bytes;
  }
  known_.memory["gemm and attention"] = own.operations->workspace_bytes();
  known_.notes = own.operations->notes();
  for (const auto& [what, text] : own.parallel->notes()) known_.notes[what] = text;
}

// Where the memory is too small: how small, and the largest batch for which it is not.
void TrainingWork::make_model(Rank& rank, RankState& own) const {
  const auto make = [&](const ModelDescription& description) {
    return description.make(settings_.recipe, settings_.optimizer, shard_of(parallel_, rank),
                            rank.device, *own.operations);
  };
  // More than a plan may have counts as all that a number can say.
  const auto planned = [&](const ModelDescription& description) {
    try {
      return make(description)->memory().total_bytes();
    } catch (const OutOfMemory&) {
      return kMoreThanPlanned;
    }
  };
  try {
    own.model = make(description_);
    return own.model->allocate();
  } catch (const OutOfMemory&) {
    const std::uint64_t there = rank.device.info().memory_bytes;
    const auto usable = static_cast<std::uint64_t>(kUsableMemory * static_cast<double>(there));
    const std::uint64_t needed = planned(description_);
    std::int64_t fits = 0, too_large = description_.axes.number("batch").value_or(1);
    const std::string wants = fmt::format(
        "{} {}: needs {} of memory, and {} has {:.1f}", description_.name, settings_.recipe.name,
        memory_text(needed), rank.device.info().name, gigabytes(there));
    if (needed <= usable) {
      throw OutOfMemory(wants + ", of which other programs or ranks leave too little");
    }
    while (too_large - fits > 1) {
      const std::int64_t middle = fits + (too_large - fits) / 2;
      (planned(description_.with_batch(middle)) <= usable ? fits : too_large) = middle;
    }
    const std::int64_t batch = std::max<std::int64_t>(fits, 1);
    const std::string advice = fmt::format("batch {} needs {}", batch,
                                           memory_text(planned(description_.with_batch(batch))));
    throw OutOfMemory(wants + "; " + advice);
  }
}

void TrainingWork::enqueue_begin(Rank& rank, RankState& own, ParallelStep& passes,
                                 Stream& stream) const {
  own.model->begin_step(stream);
  const std::int64_t own_batches = batch_of(parallel_, rank);
  for (std::int64_t batch = 0; batch < settings_.accumulate; ++batch) {
    own.model->make_random_input(
        stream, static_cast<std::uint64_t>(own_batches * settings_.accumulate + batch));
    passes.forward(stream);
    if (batch + 1 == settings_.accumulate) return;
    own.model->backward(stream, batch == 0 ? Accumulate::no : Accumulate::yes);
  }
}

void TrainingWork::enqueue_step(Rank& rank, RankState& own, Stream& stream) const {
  if (settings_.order == UpdateOrder::after) {
    return enqueue_in_order(rank, own, *own.parallel, stream);
  }
  enqueue_begin(rank, own, *own.parallel, stream);
  own.model->backward_beside_update(stream, *own.updates, last_gradients());
}

void TrainingWork::enqueue_in_order(Rank& rank, RankState& own, ParallelStep& passes,
                                    Stream& stream) const {
  enqueue_begin(rank, own, passes, stream);
  passes.backward(stream, last_gradients());
  own.model->update(stream);
}

std::array<double, kStepParts> TrainingWork::time_parts(Rank& rank) {
  RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  AloneStep alone(*own.model);
  const auto step = [&] { enqueue_in_order(rank, own, alone, *stream); };
  step();  // the first one without a graph is slower
  const auto seconds = own.operations->time(*stream, step);
  begin_anew(rank, own);  // the gradients of this rank alone have changed its parameters
  return seconds;
}

std::vector<StepTimeline::Part> TrainingWork::time_step(Rank& rank) {
  RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  StepTimeline timeline(rank.device);
  const auto write_to = [&](StepTimeline* to) {
    own.operations->set_timeline(to);
    own.parallel->set_timeline(to);
  };
  enqueue_in_order(rank, own, *own.parallel, *stream);
  stream->synchronize(kPreparationSeconds);
  rank.team.barrier("all ranks to time a step", kPreparationSeconds);
  timeline.begin(*stream);
  write_to(&timeline);
  enqueue_in_order(rank, own, *own.parallel, *stream);
  write_to(nullptr);
  stream->synchronize(kPreparationSeconds);
  return timeline.parts();
}

double TrainingWork::time_communication(Rank& rank) {
  RankState& own = state(rank);
  if (!communicates()) return 0;
  const auto stream = rank.device.make_stream();
  const auto begin = rank.device.make_event(), end = rank.device.make_event();
  std::vector<double> seconds;
  for (int i = 0; i < kTimedCommunications; ++i) {
    rank.team.barrier("all ranks to communicate", kPreparationSeconds);
    stream->record(*begin);
    own.parallel->communicate(*stream);
    stream->record(*end);
    stream->synchronize(kPreparationSeconds);
    seconds.push_back(end->seconds_since(*begin));
  }
  return summarise(seconds).median;
}

std::uint64_t TrainingWork::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [kind, own] : known_.memory) bytes += own;
  return bytes;
}

void TrainingWork::enqueue(Rank& rank, Stream& stream) { state(rank).step->launch(stream); }

bool TrainingWork::host_driven() const { return calls_queued(known_.graph_size) == 0; }

// A step is far longer than its launch, so that one step ahead is enough.
int TrainingWork::most_queued() const { return std::max(1, calls_queued(known_.graph_size)); }

void TrainingWork::renew(Rank& rank) {
  RankState& own = state(rank);
  if (!own.operations->computes(own.model->output())) return;
  StepState state;
  rank.device.read(own.model->state(), &state);
  state.seed = kSeed + (++own.renewals << 32);
  if (settings_.optimizer.kind == OptimizerKind::sgd) state.learning_rate = kVisibleLearningRate;
  set_state(rank, own, state);
  poison(rank, own);
  own.before.clear();
  for (const Parameters::Kept& each : own.model->parameters().trained()) {
    own.before.push_back(first_elements(rank, updated(each.tensors), each.about->first_row));
  }
}

// Sets the loss and all gradients to NaN.
void TrainingWork::poison(Rank& rank, const RankState& own) const {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  rank.device.write(own.model->loss().span, &nan);
  const auto stream = rank.device.make_stream();
  for (const Parameters::Kept& each : own.model->parameters().trained()) {
    stream->fill(each.tensors.gradients.span, {FillKind::constant, 0xFF});
  }
  stream->synchronize(kPreparationSeconds);
}

const Tensor& TrainingWork::updated(const OptimizerTensors& tensors) {
  if (tensors.master.count() > 0) return tensors.master;
  const bool exact = tensors.parameters.dtype == DType::fp32;
  return exact || tensors.first_moments.count() == 0 ? tensors.parameters : tensors.first_moments;
}

std::vector<float> TrainingWork::first_elements(Rank& rank, const Tensor& tensor,
                                                std::int64_t from_row) {
  const std::size_t size = size_of(tensor.dtype);
  std::vector<float> row(static_cast<std::size_t>(std::min(tensor.columns, kMostElements)));
  std::vector<std::byte> bytes(row.size() * size);
  const auto offset = static_cast<std::uint64_t>(from_row * tensor.columns) * size;
  rank.device.read(tensor.span.slice(offset, bytes.size()), bytes.data());
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = load(tensor.dtype, &bytes[i * size]);
  return row;
}

std::optional<Skipped> TrainingWork::verify(Rank& rank) {
  const RankState& own = state(rank);
  if (!own.operations->computes(own.model->output())) {
    return Skipped{"a simulated machine computes small models in fp32 only"};
  }
  const bool divides = parts_of(parallel_, team_.size()) > 1;
  if (divides && !communicates()) return Skipped{"no rows are exchanged"};
  require_loss(rank, own);
  if (parallel_.kind == Parallel::zero3 && !communicates()) {
    return Skipped{"parameters are not gathered"};
  }
  require_update(rank, own);
  if (communicates()) require_same_parameters(rank, own);
  return std::nullopt;
}

void TrainingWork::require_loss(Rank& rank, const RankState& own) const {
  float loss = 0;
  rank.device.read(own.model->loss().span, &loss);
  const double guess = description_.untrained_loss;
  const double found = static_cast<double>(loss);
  if (found >= guess - kLossDifference && found <= guess + kLossDifference)
    return;  // false for NaN
  throw Mismatch(fmt::format("{} on {}: the loss is {}, expected {:.2f} +- {}", description_.name,
                             rank.device.info().name, loss, guess, kLossDifference));
}

void TrainingWork::require_update(Rank& rank, const RankState& own) const {
  const std::vector<Parameters::Kept> kept = own.model->parameters().trained();
  for (std::size_t i = 0; i < own.before.size(); ++i) {
    const OptimizerTensors& tensors = kept[i].tensors;
    const std::int64_t row = kept[i].about->first_row;
    const std::vector<float> gradient = first_elements(rank, tensors.gradients, row);
    const bool finite = std::all_of(gradient.begin(), gradient.end(),
                                    [](float value) { return std::isfinite(value); });
    const bool any =
        std::any_of(gradient.begin(), gradient.end(), [](float value) { return value != 0; });
    const bool changed = first_elements(rank, updated(tensors), row) != own.before[i];
    const char* fault = nullptr;
    if (!finite) {
      fault = "is not finite";
    } else if (!kept[i].about->sparse) {
      fault = !any ? "is 0" : !changed ? "was not used" : nullptr;
    }
    if (fault == nullptr) continue;
    throw Mismatch(fmt::format("{} on {}: the gradient of {} {}", description_.name,
                               rank.device.info().name, kept[i].about->name, fault));
  }
}

// A rank that took part in other sums, or in none, has other parameters: its batch was another one.
// Of shards, what was gathered must be the same; of tensor shards, what all have, and the loss; of
// several tensor groups, the same parts; where experts are divided, all else.
void TrainingWork::require_same_parameters(Rank& rank, const RankState& own) const {
  std::string common, divided;
  const auto add = [&](const Tensor& tensor, bool is_whole) {
    const std::vector<float> row = first_elements(rank, tensor);
    (is_whole ? common : divided)
        .append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  };
  const Parameters& parameters = own.model->parameters();
  if (parameters.units().empty()) {
    for (const Parameters::Kept& each : parameters.trained()) {
      add(updated(each.tensors), each.about->part.is_whole());
    }
  }
  for (const TrainedParameter& each : parameters.all()) {
    add(each.tensors.parameters, each.about.part.is_whole());
  }
  if (parallel_.kind == Parallel::tp) add(own.model->loss(), true);
  const auto hash = [](const std::string& values) {
    return std::to_string(std::hash<std::string>()(values));
  };
  const auto all = rank.team.gather(rank, pack({hash(common), hash(divided)}),
                                    "all ranks to compare their parameters");
  const int alike = rank.index % parts_of(parallel_, rank.size);  // has the same parts
  for (const auto& [other, mine, what] :
       {std::tuple(0, hash(common), 0U), std::tuple(alike, hash(divided), 1U)}) {
    if (unpack(all->at(static_cast<std::size_t>(other))).at(what) == mine) continue;
    throw Mismatch(fmt::format("{} on rank {}: its parameters are not those of rank {}",
                               description_.name, rank.index, other));
  }
}

void TrainingWork::release(Rank& rank) noexcept {
  const RankState ended = std::exchange(state(rank), {});  // members end in the reverse order
}

}  // namespace duet
