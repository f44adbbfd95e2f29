#include "training/training_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr double kPreparationSeconds = 600;
constexpr double kLearningRate = 1e-4;
// Of the step that is verified by SGD, whose usual steps are too small to show in bf16.
constexpr double kVisibleLearningRate = 1;
constexpr std::uint64_t kSeed = 1;
// The share of a device's memory that a model may fill: GEMMs, attention and the driver want some.
constexpr double kUsableMemory = 0.96;
// Operations of graphs that wait behind the start gate: 10 graphs of 250 blocked on an H200 (CUDA
// 13.0), 2 did not.
constexpr std::size_t kLaunchQueue = 512;
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

double gigabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

}  // namespace

const char* name(UpdateOrder order) { return name_of(kOrders, order); }

UpdateOrder parse_update_order(std::string_view text) {
  return parse_name(kOrders, "unknown order of the update", text);
}

TrainingWork::TrainingWork(ModelDescription description, Recipe recipe, const Optimizer& optimizer,
                           std::int64_t accumulate, UpdateOrder order)
    : description_(std::move(description)),
      recipe_(std::move(recipe)),
      optimizer_(optimizer),
      accumulate_(accumulate),
      order_(order) {
  if (accumulate_ > 1) recipe_.gradients = DType::fp32;
}

Cost TrainingWork::cost() const {
  Cost cost = description_.cost;
  cost.memory_bytes = description_.elements_moved * static_cast<double>(size_of(recipe_.compute));
  for (double* each : {&cost.flop, &cost.memory_bytes, &cost.tokens, &cost.samples}) {
    *each *= static_cast<double>(accumulate_);
  }
  cost.memory_bytes += description_.parameters * optimizer_bytes(recipe_, optimizer_.kind);
  return cost;
}

StepState TrainingWork::first_state() const {
  return {0, kSeed, kLearningRate, 1 / static_cast<double>(accumulate_)};
}

void TrainingWork::set_state(Rank& rank, const StepState& state) const {
  if (!rank.device.has_contents(model_->state())) return;
  rank.device.write(model_->state(), &state);
}

// Runs one step, which makes the plans of all GEMMs, captures a step, and begins anew.
void TrainingWork::prepare(Rank& rank, const Placement& placement) {
  operations_ = std::make_unique<TimedOperations>(rank.device);
  make_model(rank);
  model_->initialise(kSeed);
  set_state(rank, first_state());
  overlapped_ = std::make_unique<OverlappedUpdate>(rank.device);
  // Above the updates'.
  const auto stream = rank.device.make_stream({placement.priority + 1, placement.units});
  step(*stream, UpdateOrder::after);
  stream->synchronize(kPreparationSeconds);
  step_ = capture(*stream, [&] { step(*stream, order_); });
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    const auto kind = static_cast<MemoryUse>(use);
    memory_[duet::name(kind)] = model_->memory().bytes(kind);
  }
  notes_ = operations_->notes();
  memory_["gemm and attention"] = operations_->workspace_bytes();
  model_->initialise(kSeed);
  set_state(rank, first_state());
}

// Where the memory is too small: how small, and the largest batch for which it is not.
void TrainingWork::make_model(Rank& rank) {
  model_ = description_.make(recipe_, optimizer_, rank.device, *operations_);
  try {
    return model_->allocate();
  } catch (const OutOfMemory&) {
    const auto planned = [&](std::int64_t batch) {
      const ModelDescription other = description_.with_batch(batch);
      return other.make(recipe_, optimizer_, rank.device, *operations_)->memory().total_bytes();
    };
    const std::uint64_t there = rank.device.info().memory_bytes;
    const auto usable = static_cast<std::uint64_t>(kUsableMemory * static_cast<double>(there));
    std::int64_t fits = 0, too_large = description_.axes.number("batch").value_or(1);
    while (too_large - fits > 1) {
      const std::int64_t middle = fits + (too_large - fits) / 2;
      (planned(middle) <= usable ? fits : too_large) = middle;
    }
    const std::string advice =
        fits > 0 ? fmt::format("batch {} needs {:.1f} GB", fits, gigabytes(planned(fits)))
                 : fmt::format("batch 1 needs {:.1f} GB", gigabytes(planned(1)));
    throw OutOfMemory(fmt::format("{} {}: needs {:.1f} GB of memory, and {} has {:.1f}; {}",
                                  description_.name, recipe_.name,
                                  gigabytes(model_->memory().total_bytes()),
                                  rank.device.info().name, gigabytes(there), advice));
  }
}

void TrainingWork::step(Stream& stream, UpdateOrder order) {
  model_->begin_step(stream);
  for (std::int64_t batch = 0; batch < accumulate_; ++batch) {
    const Accumulate gradients = batch == 0 ? Accumulate::no : Accumulate::yes;
    model_->make_random_input(stream, static_cast<std::uint64_t>(batch));
    model_->forward(stream);
    if (order == UpdateOrder::beside && batch + 1 == accumulate_) {
      return overlapped_->enqueue(stream, *model_, gradients);
    }
    model_->backward(stream, gradients);
  }
  model_->update(stream);
}

std::array<double, kStepParts> TrainingWork::time_parts(Rank& rank) {
  const auto stream = rank.device.make_stream();
  step(*stream, UpdateOrder::after);  // the first one without a graph is slower
  return operations_->time(*stream, [&] { step(*stream, UpdateOrder::after); });
}

std::uint64_t TrainingWork::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [kind, own] : memory_) bytes += own;
  return bytes;
}

void TrainingWork::enqueue(Rank&, Stream& stream) { step_->launch(stream); }

// A step is far longer than its launch, so that one step ahead is enough.
int TrainingWork::most_queued() const {
  return static_cast<int>(std::max<std::size_t>(1, kLaunchQueue / step_->size()));
}

void TrainingWork::renew(Rank& rank) {
  if (!operations_->computes(model_->output())) return;
  StepState state;
  rank.device.read(model_->state(), &state);
  state.seed = kSeed + (++renewals_ << 32);
  if (optimizer_.kind == OptimizerKind::sgd) state.learning_rate = kVisibleLearningRate;
  set_state(rank, state);
  poison(rank);
  before_.clear();
  for (const TrainedParameter& each : model_->parameters().all()) {
    before_.push_back(first_row(rank, updated(each)));
  }
}

// Sets the loss and all gradients to NaN.
void TrainingWork::poison(Rank& rank) const {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  rank.device.write(model_->loss().span, &nan);
  const auto stream = rank.device.make_stream();
  for (const TrainedParameter& each : model_->parameters().all()) {
    stream->fill(each.tensors.gradients.span, {FillKind::constant, 0xFF});
  }
  stream->synchronize(kPreparationSeconds);
}

const Tensor& TrainingWork::updated(const TrainedParameter& parameter) {
  const OptimizerTensors& tensors = parameter.tensors;
  if (tensors.master.count() > 0) return tensors.master;
  const bool exact = tensors.parameters.dtype == DType::fp32;
  return exact || tensors.first_moments.count() == 0 ? tensors.parameters : tensors.first_moments;
}

std::vector<float> TrainingWork::first_row(Rank& rank, const Tensor& tensor) {
  const std::size_t size = size_of(tensor.dtype);
  std::vector<float> row(static_cast<std::size_t>(tensor.columns));
  std::vector<std::byte> bytes(row.size() * size);
  rank.device.read(tensor.span.slice(0, bytes.size()), bytes.data());
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = load(tensor.dtype, &bytes[i * size]);
  return row;
}

std::optional<Skipped> TrainingWork::verify(Rank& rank) {
  if (!operations_->computes(model_->output())) {
    return Skipped{"a simulated machine computes small models in fp32 only"};
  }
  require_loss(rank);
  require_update(rank);
  return std::nullopt;
}

void TrainingWork::require_loss(Rank& rank) const {
  float loss = 0;
  rank.device.read(model_->loss().span, &loss);
  const double guess = description_.untrained_loss;
  const double found = static_cast<double>(loss);
  if (found >= guess - kLossDifference && found <= guess + kLossDifference)
    return;  // false for NaN
  throw Mismatch(fmt::format("{} on {}: the loss is {}, expected {:.2f} +- {}", description_.name,
                             rank.device.info().name, loss, guess, kLossDifference));
}

void TrainingWork::require_update(Rank& rank) const {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const TrainedParameter& each = model_->parameters().all()[i];
    const std::vector<float> gradient = first_row(rank, each.tensors.gradients);
    const bool finite = std::all_of(gradient.begin(), gradient.end(),
                                    [](float value) { return std::isfinite(value); });
    const bool any =
        std::any_of(gradient.begin(), gradient.end(), [](float value) { return value != 0; });
    const char* fault = !finite                                        ? "is not finite"
                        : !any                                         ? "is 0"
                        : first_row(rank, updated(each)) == before_[i] ? "was not used"
                                                                       : nullptr;
    if (fault == nullptr) continue;
    throw Mismatch(fmt::format("{} on {}: the gradient of {} {}", description_.name,
                               rank.device.info().name, each.about.name, fault));
  }
}

void TrainingWork::release(Rank&) noexcept {
  step_.reset();
  overlapped_.reset();
  model_.reset();
  operations_.reset();
}

}  // namespace duet
