#include "training/training_input.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "training/training_run_fixture.h"

namespace duet {
namespace {

using TrainingInputTest = TrainingRunTest;

TEST_F(TrainingInputTest, AFolderThatCannotBeWrittenIsFoundBefore) {
  TrainingRunSettings s = settings(1);
  s.model = tiny_qwen3({});
  s.save = path("text");  // the data
  EXPECT_THROW(TrainingInput{s}, UsageError);
  s.save = path("text/model");
  EXPECT_THROW(TrainingInput{s}, UsageError);
}

// Before memory is allocated and GEMMs are tuned.
TEST_F(TrainingInputTest, AModelThatCannotBeLoadedIsFoundBefore) {
  TrainingRunSettings s = settings(1);
  s.model = tiny_qwen3({});
  s.save = path("model");
  run(s);
  s.weights = std::exchange(s.save, "");
  TrainingInput{s};
  std::filesystem::resize_file(path("model/model.safetensors"), 1000);
  EXPECT_THROW(TrainingInput{s}, UsageError);
  std::filesystem::remove(path("model/model.safetensors"));
  EXPECT_THROW(TrainingInput{s}, UsageError);
}

// Neither another's model nor the one that this run begins with.
TEST_F(TrainingInputTest, AModelThatExistsIsNotReplaced) {
  TrainingRunSettings s = settings(3);
  s.model = tiny_qwen3({});
  s.checkpoint = path("checkpoint");
  s.save = path("model");
  run(s);
  const std::string saved = contents(path("model/model.safetensors"));
  TrainingRunSettings other = s;
  other.checkpoint = "";
  other.weights = s.save;
  EXPECT_THROW(TrainingInput{other}, UsageError);
  other.resume = true;  // nothing that could be this run's
  EXPECT_THROW(TrainingInput{other}, UsageError);
  for (const char* file :
       {"config.json", "model.safetensors", "model.safetensors.index.json",
        "model-00001-of-00002.safetensors", "adapter_config.json", "adapter_model.safetensors"}) {
    const std::string folder = path("folder");
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/tokenizer.json") << "of no model's weights";
    other.save = folder;
    TrainingInput{other};
    std::ofstream(folder + "/" + file) << "somebody's";
    EXPECT_THROW(TrainingInput{other}, UsageError) << file;
    EXPECT_EQ(contents(folder + "/" + file), "somebody's");
    std::filesystem::remove_all(folder);
  }
  EXPECT_TRUE(contents(path("model/model.safetensors")) == saved);
  // The run that goes on replaces what it has saved before.
  s.resume = true;
  s.learning_rate.steps = 5;
  EXPECT_EQ(run(s).first_step, 4);
  EXPECT_FALSE(contents(path("model/model.safetensors")) == saved);
}

// Hours after the folder was looked at.
TEST_F(TrainingInputTest, AModelThatHasComeMeanwhileIsNotReplaced) {
  TrainingRunSettings s = settings(3);
  s.model = tiny_qwen3({});
  s.save = path("model");
  const auto put = [&] {
    std::ofstream(path("model/config.json")) << "somebody's";
    return false;
  };
  EXPECT_THROW(run(s, put), UsageError);
  EXPECT_EQ(contents(path("model/config.json")), "somebody's");
  EXPECT_FALSE(std::filesystem::exists(path("model/model.safetensors")));
}

TEST_F(TrainingInputTest, ACheckpointIsNoFileOfTheModel) {
  TrainingRunSettings s = settings(3);
  s.model = tiny_qwen3({});
  s.save = path("model");
  s.checkpoint = path("model/model.safetensors");
  EXPECT_THROW(TrainingInput{s}, UsageError);
  std::filesystem::create_directory(s.save);
  EXPECT_THROW(TrainingInput{s}, UsageError);
  s.checkpoint = path("model/checkpoint.safetensors");
  TrainingInput{s};
}

// Of a run that does not resume.
TEST_F(TrainingInputTest, AFileThatExistsIsNotReplaced) {
  TrainingRunSettings s = settings(3);
  std::ofstream(path("empty"));
  for (const char* file : {"new", "empty"}) {
    s.checkpoint = path(file);
    run(s);
    EXPECT_THROW(TrainingInput{s}, UsageError);  // the checkpoint
  }
  for (const char* file : {"text", "new", "."}) {
    s.checkpoint = path(file);
    EXPECT_THROW(TrainingInput{s}, UsageError) << file;
  }
  s.checkpoint = "/dev/null";  // cannot be replaced
  EXPECT_THROW(TrainingInput{s}, UsageError);
}

TEST_F(TrainingInputTest, WhatAKilledRunHasLeftIsRemoved) {
  TrainingRunSettings s = settings(3);
  s.checkpoint = path("checkpoint");
  std::ofstream(path(".duet-1-a.part")) << "a part of a checkpoint";
  TrainingInput{s};
  EXPECT_FALSE(std::filesystem::exists(path(".duet-1-a.part")));
}

// More steps may have another warm-up by default.
TEST_F(TrainingInputTest, ResumesWithTheCheckpointsWarmUp) {
  TrainingRunSettings s = settings(3);
  s.checkpoint = path("one");
  run(s);
  s.resume = true;
  s.learning_rate.steps = 5;
  s.learning_rate.warm_up_steps = 3;
  EXPECT_THROW(TrainingInput{s}, UsageError);
  s.keep_warm_up = true;
  EXPECT_EQ(TrainingInput(s).settings().learning_rate.warm_up_steps, 2);
  EXPECT_EQ(run(s).first_step, 4);
}

TEST_F(TrainingInputTest, OtherSettingsDoNotResume) {
  TrainingRunSettings s = settings(3);
  s.checkpoint = path("one");
  run(s);
  s.resume = true;
  s.learning_rate.steps = 5;
  TrainingRunSettings other = s;
  other.model = tiny(1, 3);
  EXPECT_THROW(TrainingInput{other}, UsageError);
  other = s;
  other.seed = 2;
  EXPECT_THROW(TrainingInput{other}, UsageError);
  other = s;
  other.recipe.fp8 = true;
  EXPECT_THROW(TrainingInput{other}, UsageError);
  other = s;
  other.optimizer.kind = OptimizerKind::sgd;
  EXPECT_THROW(TrainingInput{other}, UsageError);
  TrainingInput{s};
  std::fstream(path("text")) << "Other text of the same length";
  EXPECT_THROW(TrainingInput{s}, UsageError);
}

TEST_F(TrainingInputTest, AdaptersAreNotResumedAsTheWholeModel) {
  TrainingRunSettings s = settings(3);
  s.checkpoint = path("one");
  s.model = tiny_qwen3({2, 4, all_lora_targets()});
  run(s);
  s.resume = true;
  s.learning_rate.steps = 5;
  TrainingInput{s};
  s.model = tiny_qwen3({});
  EXPECT_THROW(TrainingInput{s}, UsageError);
}

TEST_F(TrainingInputTest, ACheckpointThatCannotBeWrittenIsFoundBefore) {
  TrainingRunSettings s = settings(3);
  s.checkpoint = path("missing/file");
  EXPECT_THROW(TrainingInput{s}, UsageError);
}

}  // namespace
}  // namespace duet
