#include "training/training_input.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/packing.h"
#include "core/part_file.h"
#include "core/random.h"
#include "gemm/tuning.h"
#include "training/files/weight_files.h"

namespace duet {
namespace {

constexpr const char* kWarmUpSteps = "warm-up steps";  // in a checkpoint's metadata
constexpr std::int64_t kByteVocabulary = 256;

// `key`: of a checkpoint's metadata.
std::int64_t count_of(const std::string& path, const char* key, const std::string& text) {
  const bool number = !text.empty() && text.size() < 16 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (number) return std::stoll(text);
  throw UsageError(fmt::format("{}: its {} is '{}': expected a number", path, key, text));
}

// Before hours of training. Removes what runs that were killed have left beside the file, which may
// be as large.
void require_writable(const std::string& path, const char* expected) {
  if (path.empty()) return;
  const std::string reason = why_not_replaceable(path);
  if (!reason.empty()) {
    throw UsageError(fmt::format("{}: cannot be written: {}: expected {}", path, reason, expected));
  }
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, failed);
  if (!failed) PartFile::remove_abandoned(target.string());
}

// Training takes hours, so that what it leaves replaces no file by mistake.
void require_new(const std::string& path) {
  std::error_code ignored;
  const bool empty = std::filesystem::is_regular_file(path, ignored) &&
                     std::filesystem::file_size(path, ignored) == 0;
  if (empty || !std::filesystem::exists(path, ignored)) return;
  throw UsageError(path + ": exists: expected --resume to go on with it, or another name");
}

// The model's file would take the checkpoint's place, or the checkpoint the model's.
void require_apart(const std::string& checkpoint, const std::string& folder) {
  if (checkpoint.empty() || folder.empty()) return;
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path file = fs::weakly_canonical(fs::absolute(checkpoint), ignored);
  // With a slash at its end a path names what is in it.
  const fs::path model = fs::weakly_canonical(fs::absolute(folder) / "model", ignored);
  if (file.parent_path() != model.parent_path()) return;
  if (!is_file_of_saved_model(file.filename().string())) return;
  throw UsageError(checkpoint + ": a file of the model in " + folder +
                   ": expected another name for the checkpoint");
}

}  // namespace

TrainingInput::TrainingInput(TrainingRunSettings settings)
    : settings_(std::move(settings)),
      file_(settings_.data, settings_.model.vocabulary),
      digest_(file_.digest()),
      split_(file_, settings_.evaluation_share, settings_.model.sequence) {
  if (file_.of_bytes() && settings_.weights.empty()) {
    settings_.model = settings_.model.with_vocabulary(kByteVocabulary);
  }
  if (settings_.accumulate > 1) settings_.recipe.gradients = DType::fp32;
  if (!settings_.weights.empty()) settings_.model.folder.check(settings_.weights);
  require_apart(settings_.checkpoint, settings_.save);
  if (!settings_.resume) require_new(settings_.checkpoint);
  require_writable(settings_.checkpoint, "a file for the checkpoint");
  if (!settings_.save.empty()) {
    make_folder(settings_.save);
    require_writable((std::filesystem::path(settings_.save) / "model.safetensors").string(),
                     "a folder for the model");
  }
  if (settings_.resume && std::filesystem::exists(settings_.checkpoint)) open_checkpoint();
  require_own_folder();
}

std::string TrainingInput::run_name() const {
  std::uint64_t digest = 0;
  for (const auto& [key, value] : common_settings()) {
    for (const char c : key + '=' + value + '\n') {
      digest = random_word(digest, static_cast<unsigned char>(c));
    }
  }
  return fmt::format("{:016x}", digest);
}

void TrainingInput::require_own_folder() const {
  if (settings_.save.empty()) return;
  require_no_other_model(settings_.save, settings_.resume ? run_name() : "");
}

std::map<std::string, std::string> TrainingInput::common_settings() const {
  const TokenModelDescription& model = settings_.model;
  const LearningRateSettings& rate = settings_.learning_rate;
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  std::map<std::string, std::string> all = model.sizes;
  all.insert({{"vocabulary", text(model.vocabulary)},
              {"batch", text(model.batch * settings_.ranks)},
              {"sequence", text(model.sequence)},
              {"accumulate", text(settings_.accumulate)},
              {"recipe", settings_.recipe.name},
              {"optimizer", name(settings_.optimizer.kind)},
              {"seed", text(settings_.seed)},
              {"weights", settings_.weights},
              {"number of tokens", text(file_.count())},
              {"tokens' digest", fmt::format("{:016x}", digest_)},
              {"evaluation share", text(settings_.evaluation_share)},
              {"learning rate", text(rate.peak)},
              {kWarmUpSteps, text(rate.warm_up_steps)},
              {"clip", text(settings_.clip)}});
  if (settings_.recipe.fp8) all["FP8 gradients"] = name(settings_.recipe.fp8_gradients);
  return all;
}

void TrainingInput::open_checkpoint() {
  const std::string& path = settings_.checkpoint;
  checkpoint_ = std::make_unique<Checkpoint>(path);
  const auto found = [&](const std::string& key) -> std::string {
    const auto at = checkpoint_->metadata().find(key);
    return at == checkpoint_->metadata().end() ? "" : at->second;
  };
  if (settings_.keep_warm_up) {
    settings_.learning_rate.warm_up_steps = count_of(path, kWarmUpSteps, found(kWarmUpSteps));
  }
  std::map<std::string, std::string> own = common_settings();
  for (const auto& [key, value] : checkpoint_->metadata()) {
    if (key != kCheckpointStep && key != kCheckpointTuning) own.emplace(key, "none");
  }
  for (const auto& [key, value] : own) {
    if (found(key) == value) continue;
    throw UsageError(fmt::format("{}: its {} is '{}': expected {}, as this run's", path, key,
                                 found(key), value));
  }
  steps_done_ = count_of(path, kCheckpointStep, found(kCheckpointStep));
  const bool only_saves = steps_done_ == settings_.learning_rate.steps && !settings_.save.empty();
  if (steps_done_ >= settings_.learning_rate.steps && !only_saves) {
    throw UsageError(
        fmt::format("{}: holds step {}: expected more --steps than that", path, steps_done_));
  }
  tuning_cache().adopt(found(kCheckpointTuning));
}

void TrainingInput::require_same_on_all(Rank& rank) const {
  std::map<std::string, std::string> own = common_settings();
  own["steps done"] = fmt::format("{}", steps_done_);
  std::vector<std::string> fields;
  for (const auto& [key, value] : own) fields.insert(fields.end(), {key, value});
  const auto all = rank.team.gather(rank, pack(fields), "all ranks to open their files");
  const std::vector<std::string> first = unpack(all->front());
  for (std::size_t i = 0; i < fields.size() && first.size() == fields.size(); i += 2) {
    if (fields[i + 1] == first[i + 1]) continue;
    throw UsageError(
        fmt::format("{}: '{}' here, '{}' on rank 0: expected all ranks to have the "
                    "same settings, data and checkpoint",
                    fields[i], fields[i + 1], first[i + 1]));
  }
}

}  // namespace duet
