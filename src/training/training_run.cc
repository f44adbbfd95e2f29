#include "training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "gemm/tuning.h"

namespace duet {
namespace {

constexpr double kRunStepSeconds = 600;  // the longest that a step may take
constexpr int kModelPriority = 1;        // of its stream; sums over ranks are above it
constexpr std::int64_t kMostEvaluationBatches = 32;

// All parameters in their order, with what this rank keeps of each, which may be nothing.
std::vector<Parameters::Kept> kept_of_all(const Parameters& parameters) {
  std::vector<Parameters::Kept> all;
  for (std::size_t i = 0; i < parameters.all().size(); ++i) {
    all.push_back({i, &parameters.all()[i].about, 0, {}});
  }
  for (const Parameters::Kept& each : parameters.kept()) all[each.parameter] = each;
  return all;
}

void require_finite(std::int64_t step, double loss) {
  if (!std::isfinite(loss)) throw Error(fmt::format("step {}: the loss is {}", step, loss));
}

}  // namespace

TrainingRun::TrainingRun(Rank& rank, const TrainingInput& input, const ParallelSettings& parallel)
    : rank_(rank),
      device_(rank.device),
      input_(input),
      settings_(input.settings()),
      operations_(make_operations(device_, {true, settings_.tuning_seconds})),
      model_(settings_.model.make(settings_.recipe, settings_.optimizer, shard_of(parallel, rank),
                                  device_, *operations_)),
      stream_(device_.make_stream({kModelPriority})),
      done_(input.steps_done()) {
  rank.team.free_retired(rank);  // memory of earlier plans
  model_->allocate();
  prepare(parallel);
  model_->initialise(settings_.seed);
  load_weights();
  if (input.checkpoint() != nullptr) input.checkpoint()->load(checkpoint_tensors());
}

// Rank 0 chooses the algorithms of GEMMs, of which the checkpoint keeps one each: all ranks then
// have the same, and a run that resumes has those of this one.
void TrainingRun::choose_algorithms() {
  if (rank_.size == 1) return;
  if (rank_.index == 0) {
    model_->forward(*stream_);
    model_->backward(*stream_, Accumulate::no);
    if (settings_.accumulate > 1) {
      model_->forward(*stream_);
      model_->backward(*stream_, Accumulate::yes);
    }
    model_->forward(*stream_);
    model_->evaluate(*stream_);
    stream_->synchronize(kRunStepSeconds);
  }
  const std::string mine = rank_.index == 0 ? tuning_cache().text() : "";
  const auto all =
      rank_.team.gather(rank_, mine, "rank 0 to choose algorithms of GEMMs", kRunStepSeconds);
  tuning_cache().adopt(all->front());
}

// Runs what is captured once before, which makes the plans of GEMMs and attention.
void TrainingRun::prepare(const ParallelSettings& parallel) {
  const double scale = 1 / static_cast<double>(settings_.accumulate * settings_.ranks);
  const auto capture_twice = [&](const std::function<void()>& enqueue) {
    enqueue();
    stream_->synchronize(kRunStepSeconds);
    return capture(*stream_, enqueue);
  };
  const auto batch = [&](Accumulate gradients) {
    return capture_twice([this, gradients] {
      model_->forward(*stream_);
      model_->backward(*stream_, gradients);
    });
  };
  model_->initialise(settings_.seed);
  const StepState state{1, settings_.seed, 0, scale};
  device_.write(model_->state(), &state);
  write(training_batch(1));
  choose_algorithms();
  make_parallel(parallel);
  const bool several = settings_.accumulate > 1;
  if (several) first_batch_ = batch(Accumulate::no);
  if (settings_.accumulate > 2) middle_batch_ = batch(Accumulate::yes);
  last_batch_ = capture_twice([&] {
    parallel_->forward(*stream_);
    parallel_->backward(*stream_, several ? Accumulate::yes : Accumulate::no);
  });
  evaluation_ = capture_twice([this] {
    parallel_->forward(*stream_);
    model_->evaluate(*stream_);
  });
  update_ = capture_twice([this, scale] {
    model_->clip(*stream_, scale, settings_.clip, [this] { parallel_->sum_squares(*stream_); });
    model_->update(*stream_);
  });
}

// A first pass tells in which order gradients are complete.
void TrainingRun::make_parallel(const ParallelSettings& parallel) {
  std::vector<ParameterRange> ranges;
  model_->forward(*stream_);
  model_->backward(*stream_, Accumulate::no,
                   [&](const ParameterRange& range) { ranges.push_back(range); });
  stream_->synchronize(kRunStepSeconds);
  parallel_ = make_parallel_step(parallel, rank_, *model_, ranges, {kModelPriority + 1});
}

// This rank's part of the batch at that place of all batches.
TokenBatch TrainingRun::training_batch(std::int64_t place) const {
  const TokenModelDescription& c = settings_.model;
  return input_.split().training_batch(settings_.seed, place, c.batch, c.sequence,
                                       first_sequence());
}

std::int64_t TrainingRun::first_sequence() const {
  return rank_.index / (rank_.size / settings_.ranks) * settings_.model.batch;
}

// In the ranks' order, so that all get the same bits.
double TrainingRun::sum_over_ranks(double mine, const std::string& what) {
  if (rank_.size == 1) return mine;
  double sum = 0;
  for (const std::string& each :
       *rank_.team.gather(rank_, fmt::format("{}", mine), what, kRunStepSeconds)) {
    sum += std::stod(each);
  }
  return sum;
}

// The ranks that divide a batch have the same loss.
double TrainingRun::sum_of_losses(double mine, const std::string& what) {
  if (settings_.ranks == 1) return mine;
  const auto sharing = static_cast<double>(rank_.size / settings_.ranks);
  return sum_over_ranks(mine, what) / sharing;
}

std::uint64_t TrainingRun::memory_bytes() const {
  return model_->memory().total_bytes() + operations_->workspace_bytes();
}

CheckpointTensor TrainingRun::kept_tensor(const std::string& name, const ModelParameter& about,
                                          const Tensor& type, const Tensor& here,
                                          std::int64_t first) const {
  CheckpointTensor tensor{name, {{}, about.rows, about.columns, type.dtype}};
  const bool is_placed = !about.part.is_whole();
  if (!is_placed && model_->parameters().units().empty()) {
    tensor.tensor = here;
    return tensor;
  }
  if (is_placed) tensor.tensor = {{}, about.part.rows, about.part.columns, type.dtype};
  tensor.part = Tensor{here.span, here.rows, here.columns, type.dtype};
  tensor.first = first;
  tensor.place = about.part;
  return tensor;
}

// All trained tensors of the model, with what this rank keeps of each.
std::vector<CheckpointTensor> TrainingRun::checkpoint_tensors() const {
  const Parameters& parameters = model_->parameters();
  const OptimizerTensors types = parameters.types();
  std::vector<CheckpointTensor> all;
  for (const Parameters::Kept& each : kept_of_all(parameters)) {
    if (each.about->frozen) continue;
    const auto add = [&](const char* ending, const Tensor& type, const Tensor& here) {
      if (type.count() == 0) return;
      all.push_back(kept_tensor(each.about->name + ending, *each.about, type, here, each.first));
    };
    add("", types.parameters, each.tensors.parameters);
    add(".first_moments", types.first_moments, each.tensors.first_moments);
    add(".second_moments", types.second_moments, each.tensors.second_moments);
    add(".master", types.master, each.tensors.master);
  }
  return all;
}

std::vector<CheckpointTensor> TrainingRun::weights(const Wanted& wanted, bool with_masters) const {
  const Parameters& parameters = model_->parameters();
  const OptimizerTensors types = parameters.types();
  std::vector<CheckpointTensor> all;
  for (const Parameters::Kept& each : kept_of_all(parameters)) {
    const ModelParameter& about = *each.about;
    if (!wanted(about)) continue;
    const auto add = [&](const Tensor& type, const Tensor& here) {
      all.push_back(kept_tensor(about.name, about, type, here, each.first));
    };
    add(types.parameters, each.tensors.parameters);
    if (with_masters && types.master.count() > 0 && !about.frozen) {
      add(types.master, each.tensors.master);
    }
  }
  return all;
}

void TrainingRun::load_weights() {
  if (settings_.weights.empty()) return;
  const bool adapted = model_->parameters().trained().size() < model_->parameters().kept().size();
  const auto wanted = [&](const ModelParameter& about) { return about.frozen == adapted; };
  rank_.team.all_or_none(
      rank_, "all ranks to load a model",
      [&] { settings_.model.folder.load(settings_.weights, weights(wanted, true)); },
      kRunStepSeconds);
}

void TrainingRun::save_model() {
  if (settings_.save.empty()) return;
  require_finite(done_, loss_of(*evaluation_));
  const auto wanted = [](const ModelParameter& about) { return !about.frozen; };
  std::vector<CheckpointTensor> trained = weights(wanted, false);
  if (rank_.index > 0 && !model_->parameters().is_divided()) {
    for (CheckpointTensor& each : trained) each.part = Tensor{{}, 1, 0, each.tensor.dtype};
  }
  const auto look = [&] {
    if (rank_.index == 0) input_.require_own_folder();
  };
  rank_.team.all_or_none(rank_, "rank 0 to look at a folder", look, kSaveSeconds);
  settings_.model.folder.save(rank_, settings_.save, settings_.weights, trained, input_.run_name());
}

// Parameters that an update has ruined show in the next loss only, so that loss comes first.
void TrainingRun::save(std::int64_t step) {
  if (settings_.checkpoint.empty()) return;
  require_finite(step, loss_of(*evaluation_));
  auto metadata = input_.common_settings();
  metadata[kCheckpointStep] = fmt::format("{}", step);
  metadata[kCheckpointTuning] = tuning_cache().text();
  if (model_->parameters().is_divided()) {
    return save_checkpoint(rank_, settings_.checkpoint, metadata, checkpoint_tensors());
  }
  const auto write = [&] {
    if (rank_.index == 0) save_checkpoint(settings_.checkpoint, metadata, checkpoint_tensors());
  };
  rank_.team.all_or_none(rank_, "rank 0 to write a checkpoint", write, kSaveSeconds);
}

TrainingCurves TrainingRun::run(const std::function<bool()>& stop,
                                const std::function<void(const TrainingCurves&)>& after_step) {
  TrainingCurves curves;
  curves.first_step = done_ + 1;
  curves.tokens = settings_.model.model.cost.more.value(kTokens) *
                  static_cast<double>(settings_.accumulate * settings_.ranks);
  while (done_ < settings_.learning_rate.steps) {
    const double asked = stop && stop() ? 1 : 0;
    if (sum_over_ranks(asked, "all ranks to begin a step") > 0) {
      save(done_);
      throw Interrupted();
    }
    step(done_ + 1, curves);
    ++done_;
    const auto due = [&](std::int64_t every) {
      return done_ == settings_.learning_rate.steps || (every > 0 && done_ % every == 0);
    };
    if (due(settings_.evaluate_every)) evaluate(done_, curves);
    if (due(settings_.checkpoint_every)) save(done_);
    if (after_step && rank_.index == 0) after_step(curves);
  }
  save_model();
  return curves;
}

void TrainingRun::step(std::int64_t number, TrainingCurves& curves) {
  const double begin = steady_now();
  const StepState state{number, settings_.seed, learning_rate(number, settings_.learning_rate), 1};
  device_.write(model_->state(), &state);
  double loss = 0;
  for (std::int64_t i = 0; i < settings_.accumulate; ++i) {
    write(training_batch((number - 1) * settings_.accumulate + i));
    const bool last = i + 1 == settings_.accumulate;
    loss += loss_of(last ? *last_batch_ : i == 0 ? *first_batch_ : *middle_batch_);
  }
  loss = sum_of_losses(loss, "all ranks to sum their losses") /
         static_cast<double>(settings_.accumulate * settings_.ranks);
  require_finite(number, loss);
  wait_for(*update_);
  curves.seconds.push_back(steady_now() - begin);
  curves.loss.push_back(loss);
  curves.learning_rate.push_back(state.learning_rate);
  curves.gradient_norm.push_back(read(model_->gradient_norm()));
}

// Ranks share each of these batches.
void TrainingRun::evaluate(std::int64_t step, TrainingCurves& curves) {
  const TokenModelDescription& c = settings_.model;
  const TokenSplit& split = input_.split();
  const std::int64_t whole = c.batch * settings_.ranks;
  const std::int64_t batches =
      std::min(kMostEvaluationBatches, split.evaluation_batches(whole, c.sequence));
  if (batches == 0) return;
  double sum = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    write(split.evaluation_batch(i, whole, c.sequence, first_sequence(), c.batch));
    sum += loss_of(*evaluation_);
  }
  sum = sum_of_losses(sum, "all ranks to evaluate");
  curves.evaluation_step.push_back(static_cast<double>(step));
  curves.evaluation_loss.push_back(sum / static_cast<double>(batches * settings_.ranks));
}

std::string TrainingRun::generate(const Generation& asked, const std::function<bool()>& stop) {
  const auto next = [&](const std::vector<std::int32_t>& context) {
    const double stops = stop && stop() ? 1 : 0;
    if (sum_over_ranks(stops, "all ranks to make a token") > 0) return std::vector<float>();
    return logits_after(context, *model_, device_, *stream_,
                        [this] { parallel_->forward(*stream_); });
  };
  return duet::generate(asked, settings_.model.sequence, next);
}

void TrainingRun::write(const TokenBatch& batch) {
  device_.write(model_->tokens().span, batch.tokens.data());
  device_.write(model_->targets().span, batch.targets.data());
}

double TrainingRun::read(const Tensor& figure) const {
  float value = 0;
  device_.read(figure.span, &value);
  return static_cast<double>(value);
}

double TrainingRun::loss_of(Graph& batch) {
  wait_for(batch);
  return read(model_->loss());
}

void TrainingRun::wait_for(Graph& graph) {
  graph.launch(*stream_);
  stream_->synchronize(kRunStepSeconds);
}

}  // namespace duet
