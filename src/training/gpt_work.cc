#include "training/gpt_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace duet {
namespace {

constexpr double kPreparationSeconds = 600;
constexpr double kLearningRate = 1e-4;
constexpr std::uint64_t kSeed = 1;
// The loss may be above ln(vocabulary) by so much: weights follow the last tokens for a while.
constexpr double kLossAbove = 1;

}  // namespace

GptWork::GptWork(GptConfig config, AdamWOptions options)
    : config_(std::move(config)), options_(options) {}

Cost GptWork::cost() const {
  Cost cost;
  cost.tokens = static_cast<double>(config_.tokens());
  cost.flop = flop_per_token(config_).model * cost.tokens;
  return cost;
}

void GptWork::set_state(Rank& rank, const StepState& state) const {
  if (!rank.device.has_contents(model_->state())) return;
  rank.device.write(model_->state(), &state);
}

// Runs one step, which makes the plans of all GEMMs, and begins anew.
void GptWork::prepare(Rank& rank, const Placement& placement) {
  operations_ = make_operations(rank.device);
  model_ = std::make_unique<Gpt>(config_, rank.device, *operations_);
  memory_bytes_ = model_->memory().total_bytes();
  model_->initialise(kSeed);
  set_state(rank, {0, kSeed, kLearningRate, 1});
  const auto stream = rank.device.make_stream({placement.priority, placement.units});
  enqueue(rank, *stream);
  stream->synchronize(kPreparationSeconds);
  model_->initialise(kSeed);
  set_state(rank, {0, kSeed, kLearningRate, 1});
}

void GptWork::enqueue(Rank&, Stream& stream) {
  model_->begin_random_step(stream);
  model_->zero_gradients(stream);
  model_->forward(stream);
  model_->backward(stream);
  model_->update(stream, options_);
}

void GptWork::renew(Rank& rank) {
  if (!rank.device.has_contents(model_->loss().span)) return;
  StepState state;
  rank.device.read(model_->state(), &state);
  state.seed = kSeed + (++renewals_ << 32);
  set_state(rank, state);
  const float poison = std::numeric_limits<float>::quiet_NaN();
  rank.device.write(model_->loss().span, &poison);
  const auto stream = rank.device.make_stream();
  stream->fill(model_->memory().span(MemoryUse::gradients), {FillKind::constant, 0xFF});  // NaN
  stream->synchronize(kPreparationSeconds);
  before_.clear();
  for (const TrainedParameter& each : model_->parameters()) {
    before_.push_back(first_row(rank, each.tensors.parameters));
  }
}

std::vector<float> GptWork::first_row(Rank& rank, const Tensor& tensor) {
  std::vector<float> row(static_cast<std::size_t>(tensor.columns));
  rank.device.read(tensor.span.slice(0, row.size() * sizeof(float)), row.data());
  return row;
}

std::optional<Skipped> GptWork::verify(Rank& rank) {
  if (!rank.device.has_contents(model_->loss().span)) {
    return Skipped{"the model's memory has no contents on a simulated machine"};
  }
  require_loss(rank);
  require_update(rank);
  return std::nullopt;
}

void GptWork::require_loss(Rank& rank) const {
  float loss = 0;
  rank.device.read(model_->loss().span, &loss);
  const double guess = std::log(static_cast<double>(config_.vocabulary));
  const double found = static_cast<double>(loss);
  if (found >= guess - kLossAbove && found <= guess + kLossAbove) return;  // false for NaN
  throw Mismatch(fmt::format("{} on {}: the loss is {}, expected {:.2f} +- {}", config_.name,
                             rank.device.info().name, loss, guess, kLossAbove));
}

void GptWork::require_update(Rank& rank) const {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const TrainedParameter& each = model_->parameters()[i];
    const std::vector<float> gradient = first_row(rank, each.tensors.gradients);
    const bool finite = std::all_of(gradient.begin(), gradient.end(),
                                    [](float value) { return std::isfinite(value); });
    const bool any =
        std::any_of(gradient.begin(), gradient.end(), [](float value) { return value != 0; });
    const char* fault = !finite                                                  ? "is not finite"
                        : !any                                                   ? "is 0"
                        : first_row(rank, each.tensors.parameters) == before_[i] ? "was not used"
                                                                                 : nullptr;
    if (fault == nullptr) continue;
    throw Mismatch(fmt::format("{} on {}: the gradient of {} {}", config_.name,
                               rank.device.info().name, each.about.name, fault));
  }
}

void GptWork::release(Rank&) noexcept {
  model_.reset();
  operations_.reset();
}

}  // namespace duet
