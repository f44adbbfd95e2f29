// Runs of small models on a short text, in a folder that is removed, for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "core/random.h"
#include "device/machine.h"
#include "training/models/gpt.h"
#include "training/models/qwen3.h"
#include "training/training_run.h"

namespace duet {

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class TrainingRunTest : public ::testing::Test {
 protected:
  TrainingRunTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    std::ofstream file(folder_ / "text");
    for (std::uint64_t i = 0; i < 2000; ++i) file << "abc def\n"[random_word(1, i) % 8];
  }
  ~TrainingRunTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static TokenModelDescription tiny(std::int64_t layers, std::int64_t batch) {
    return describe_for_text(GptConfig{"tiny", layers, 2, 16, 24, 300, batch, 8});
  }

  static Qwen3Config short_sequences(Qwen3Config config) {
    config.batch = 2;
    config.sequence = 8;
    return config;
  }
  static TokenModelDescription tiny_qwen3(const LoraConfig& lora) {
    Qwen3Config config = short_sequences(find_qwen3("tiny"));
    config.lora = lora;
    return describe_for_text(config);
  }

  TrainingRunSettings settings(std::int64_t steps) const {
    TrainingRunSettings s;
    s.model = tiny(1, 2);
    s.recipe = find_recipe("fp32");
    s.data = path("text");
    s.learning_rate = {1e-2, 2, steps, 0.1};
    return s;
  }

  TrainingCurves run(const TrainingRunSettings& settings, const std::function<bool()>& stop = {}) {
    Team team(*machine_, {0});
    return run_on(team, settings, {}, stop);
  }

  // On as many ranks as the machine has devices, with batches of settings.model for each.
  TrainingCurves run_parallel(Machine& machine, Parallel parallel, TrainingRunSettings settings,
                              const std::function<bool()>& stop = {}, bool keep_gathered = false) {
    return run_parallel(machine, {parallel, nullptr, 1000, keep_gathered}, settings, stop);
  }
  static TrainingCurves run_parallel(Machine& machine, ParallelSettings how,
                                     TrainingRunSettings settings,
                                     const std::function<bool()>& stop = {}) {
    Team team(machine);
    CollectiveEngine& engine = *engines_named(machine, {"auto"}).front();
    settings.ranks = batches_of(how, team.size());
    std::unique_ptr<CollectiveSession> session;
    std::unique_ptr<ParallelGroups> groups;
    if (how.tensor_ranks == 1) session = engine.open(team);
    if (how.tensor_ranks > 1) {
      groups = std::make_unique<ParallelGroups>(team, how.tensor_ranks, engine);
    }
    how.session = session.get();
    how.groups = groups.get();
    return run_on(team, settings, how, stop);
  }

  static TrainingCurves run_on(Team& team, const TrainingRunSettings& settings,
                               const ParallelSettings& parallel,
                               const std::function<bool()>& stop) {
    const TrainingInput input(settings);
    TrainingCurves curves;
    team.each([&](Rank& rank) {
      TrainingCurves own = TrainingRun(rank, input, parallel).run(stop, {});
      if (rank.index == 0) curves = std::move(own);
    });
    return curves;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("duet_run_" + std::to_string(::getpid()));
  std::unique_ptr<Machine> machine_ = open_machine("host");
};

}  // namespace duet
