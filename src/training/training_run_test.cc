#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/message_fixture.h"
#include "training/models/qwen3_folder.h"
#include "training/training_run_fixture.h"

namespace duet {
namespace {

TEST_F(TrainingRunTest, LearnsAndEvaluates) {
  TrainingRunSettings s = settings(60);
  s.evaluate_every = 20;
  const TrainingCurves curves = run(s);
  EXPECT_EQ(curves.loss.size(), 60u);
  EXPECT_NEAR(curves.loss.front(), std::log(256), 0.1);  // bytes
  EXPECT_LT(curves.loss.back(), 3);
  EXPECT_EQ(curves.evaluation_step, (std::vector<double>{20, 40, 60}));
  EXPECT_LT(curves.evaluation_loss.back(), 3);
  EXPECT_EQ(curves.learning_rate[0], 5e-3);
  EXPECT_EQ(curves.learning_rate[1], 1e-2);
}

TEST_F(TrainingRunTest, AnInterruptedRunResumesToTheBit) {
  TrainingRunSettings s = settings(9);
  s.checkpoint = path("whole");
  s.evaluate_every = 2;  // changes nothing
  run(s);
  s.checkpoint = path("parts");
  s.evaluate_every = 0;
  int calls = 0;
  EXPECT_THROW(run(s, [&] { return ++calls > 4; }), Interrupted);
  EXPECT_FALSE(contents(path("whole")) == contents(path("parts")));
  s.resume = true;
  const TrainingCurves rest = run(s);
  EXPECT_EQ(rest.first_step, 5);
  EXPECT_EQ(rest.loss.size(), 5u);
  EXPECT_TRUE(contents(path("whole")) == contents(path("parts")));
}

TEST_F(TrainingRunTest, TrainsAQwen3) {
  TrainingRunSettings s = settings(40);
  s.model = tiny_qwen3({});
  s.checkpoint = path("qwen3");
  const TrainingCurves curves = run(s);
  EXPECT_NEAR(curves.loss.front(), std::log(256), 0.1);
  EXPECT_LT(curves.loss.back(), 3);
  s.resume = true;
  s.learning_rate.steps = 41;
  EXPECT_EQ(run(s).first_step, 41);
}

// The losses of the evaluation part are those of the run that saved the model: rounding apart, a
// step of no learning rate changes nothing.
TEST_F(TrainingRunTest, SavesAModelWithWhichOthersBegin) {
  for (const Parallel way : {Parallel::none, Parallel::ddp, Parallel::zero3, Parallel::tp}) {
    const auto machine = open_machine(way == Parallel::tp ? "host:2" : "host:3");
    TrainingRunSettings s = settings(20);
    s.model = tiny_qwen3({});
    s.save = path("model");
    s.checkpoint = path("checkpoint");
    const bool alone = way == Parallel::none;
    const TrainingCurves first = alone ? run(s) : run_parallel(*machine, way, s);
    TrainingRunSettings other = settings(1);
    other.model = describe_for_text(short_sequences(read_qwen3_folder(s.save)));
    other.weights = s.save;
    other.learning_rate.peak = 1e-12;
    EXPECT_NEAR(run(other).evaluation_loss.back(), first.evaluation_loss.back(), 1e-5);
    if (way == Parallel::tp) {
      const double again = run_parallel(*machine, way, other).evaluation_loss.back();
      EXPECT_NEAR(again, first.evaluation_loss.back(), 1e-5);
    }
    EXPECT_LT(first.evaluation_loss.back(), 4);
    // All steps are done: a run that resumes only saves.
    const std::string saved = contents(path("model/model.safetensors"));
    std::filesystem::remove_all(s.save);
    s.resume = true;
    EXPECT_TRUE((alone ? run(s) : run_parallel(*machine, way, s)).loss.empty());
    EXPECT_TRUE(contents(path("model/model.safetensors")) == saved);
    std::filesystem::remove_all(s.save);
    std::filesystem::remove(s.checkpoint);
  }
}

TEST_F(TrainingRunTest, AdaptersOfAModelThatWasSaved) {
  TrainingRunSettings base = settings(20);
  base.model = tiny_qwen3({});
  base.save = path("model");
  const double before = run(base).evaluation_loss.back();
  const std::string model = contents(path("model/model.safetensors"));
  TrainingRunSettings s = settings(12);
  s.model = tiny_qwen3({2, 4, all_lora_targets()});
  s.weights = base.save;
  s.checkpoint = path("whole");
  s.save = path("adapters");
  EXPECT_LT(run(s).evaluation_loss.back(), before);
  EXPECT_EQ(contents(path("model/model.safetensors")), model);
  // What is interrupted resumes to the bit: with the frozen weights of the folder.
  s.checkpoint = path("parts");
  s.save = path("others");
  int calls = 0;
  EXPECT_THROW(run(s, [&] { return ++calls > 5; }), Interrupted);
  EXPECT_FALSE(std::filesystem::exists(path("others/adapter_model.safetensors")));
  EXPECT_LT(std::filesystem::file_size(path("parts")), model.size());  // adapters alone
  s.resume = true;
  EXPECT_EQ(run(s).first_step, 6);
  EXPECT_TRUE(contents(path("adapters/adapter_model.safetensors")) ==
              contents(path("others/adapter_model.safetensors")));
  s.weights = path("model/../model");
  s.learning_rate.steps = 20;
  EXPECT_THROW(TrainingInput{s}, UsageError);  // of another folder, as far as its name tells
}

// What hosts can of the recipe fp8.
TEST_F(TrainingRunTest, TrainsAQwen3InFp8AsInFp32) {
  TrainingRunSettings s = settings(100);
  Qwen3Config config = find_qwen3("tiny");
  config.layers = 1;
  config.sequence = 16;
  s.model = describe_for_text(config);
  const TrainingCurves whole = run(s);
  s.recipe = {"fp8 of fp32", DType::fp32, DType::fp32, DType::fp32, false, true};
  const TrainingCurves quantised = run(s);
  EXPECT_NEAR(whole.loss.back(), quantised.loss.back(), 0.02 * whole.loss.back());
  s.recipe.fp8_gradients = DType::fp8_e5m2;
  const TrainingCurves in_e5m2 = run(s);
  EXPECT_NEAR(whole.loss.back(), in_e5m2.loss.back(), 0.02 * whole.loss.back());
  EXPECT_FALSE(in_e5m2.loss == quantised.loss);
  EXPECT_LT(quantised.loss.back(), 2.5);
  EXPECT_FALSE(quantised.loss == whole.loss);
}

// Weights are quantised from those that are gathered.
TEST_F(TrainingRunTest, SeveralRanksTrainInFp8) {
  TrainingRunSettings s = settings(8);
  Qwen3Config config = find_qwen3("tiny");
  config.sequence = 8;
  config.layers = 3;
  s.model = describe_for_text(config);
  s.recipe = {"fp8 of fp32", DType::fp32, DType::fp32, DType::fp32, false, true};
  const auto machine = open_machine("host:2");
  const TrainingCurves whole = run_parallel(*machine, Parallel::ddp, s),
                       divided = run_parallel(*machine, Parallel::zero3, s);
  for (std::size_t i = 0; i < whole.loss.size(); ++i) {
    EXPECT_NEAR(divided.loss[i], whole.loss[i], 1e-4) << i;
  }
}

void expect_near_curves(const TrainingCurves& found, const TrainingCurves& expected) {
  ASSERT_EQ(found.loss.size(), expected.loss.size());
  for (std::size_t i = 0; i < expected.loss.size(); ++i) {
    EXPECT_NEAR(found.loss[i], expected.loss[i], 1e-4) << i;
    EXPECT_NEAR(found.gradient_norm[i], expected.gradient_norm[i], 1e-4) << i;
  }
  ASSERT_EQ(found.evaluation_loss.size(), 2u);
  EXPECT_NEAR(found.evaluation_loss[1], expected.evaluation_loss[1], 1e-4);
  EXPECT_EQ(found.tokens, expected.tokens);
}

// Each rank has a part of the batch.
TEST_F(TrainingRunTest, SeveralRanksLearnAsOneWithAllTheirBatches) {
  const std::pair<Parallel, std::int64_t> ways[] = {
      {Parallel::ddp, 1}, {Parallel::ddp, 3}, {Parallel::zero3, 1}};
  for (const auto& [way, accumulate] : ways) {
    TrainingRunSettings s = settings(20);
    s.model = tiny(3, 2);
    s.accumulate = accumulate;
    s.evaluate_every = 10;
    s.clip = 0.5;  // below the gradients' norm
    TrainingRunSettings whole = s;
    whole.model = tiny(3, 6);
    const TrainingCurves alone = run(whole);
    const auto machine = open_machine("host:3");
    const TrainingCurves parallel = run_parallel(*machine, way, s);
    expect_near_curves(parallel, alone);
    for (const bool keep_gathered : {false, way == Parallel::zero3}) {  // to the bit
      EXPECT_TRUE(run_parallel(*machine, way, s, {}, keep_gathered).loss == parallel.loss);
    }
  }
}

// All ranks have the whole batch.
TEST_F(TrainingRunTest, TensorShardsLearnAsOneDevice) {
  for (const std::int64_t accumulate : {1, 3}) {
    TrainingRunSettings s = settings(20);
    s.model = tiny(3, 2);
    s.accumulate = accumulate;
    s.evaluate_every = 10;
    s.clip = 0.5;  // below the gradients' norm
    const TrainingCurves alone = run(s);
    const auto one = open_machine("host:1"), two = open_machine("host:2");
    const TrainingCurves of_one = run_parallel(*one, Parallel::tp, s);
    EXPECT_TRUE(of_one.loss == alone.loss);
    EXPECT_TRUE(of_one.gradient_norm == alone.gradient_norm);
    const TrainingCurves parallel = run_parallel(*two, Parallel::tp, s);
    expect_near_curves(parallel, alone);
    EXPECT_TRUE(run_parallel(*two, Parallel::tp, s).loss == parallel.loss);  // to the bit
  }
}

// A checkpoint of tensor shards is one of the whole model.
TEST_F(TrainingRunTest, TensorShardsResumeToTheBitAndAsOthers) {
  TrainingRunSettings s = settings(9);
  s.model = tiny(3, 6);
  const auto two = open_machine("host:2"), three = open_machine("host:3");
  s.checkpoint = path("whole");
  const TrainingCurves whole = run_parallel(*two, Parallel::tp, s);
  s.checkpoint = path("parts");
  std::atomic<int> calls{0};
  EXPECT_THROW(run_parallel(*two, Parallel::tp, s, [&] { return ++calls > 8; }), Interrupted);
  s.resume = true;
  const auto resumed = [&](const char* copy, const std::function<TrainingCurves()>& run_rest) {
    s.checkpoint = path(copy);
    std::filesystem::copy(path("parts"), s.checkpoint);
    const TrainingCurves rest = run_rest();
    EXPECT_EQ(rest.first_step, 5) << copy;
    EXPECT_NEAR(rest.loss.back(), whole.loss.back(), 1e-4) << copy;
  };
  resumed("alone", [&] { return run(s); });
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    s.model = tiny(3, 2);
    resumed(name(way), [&] { return run_parallel(*three, way, s); });
    s.model = tiny(3, 6);
    s.checkpoint = path(name(way));
    s.learning_rate.steps = 10;  // and back
    EXPECT_EQ(run_parallel(*two, Parallel::tp, s).first_step, 10);
    s.learning_rate.steps = 9;
  }
  s.checkpoint = path("parts");
  run_parallel(*two, Parallel::tp, s);
  EXPECT_TRUE(contents(path("whole")) == contents(path("parts")));
}

// Which takes longer than a step may.
TEST_F(TrainingRunTest, AllRanksWaitForTheCheckpoint) {
  const auto machine = open_machine("host:2");
  TrainingRunSettings s = settings(6);
  s.checkpoint = path("checkpoint");
  s.checkpoint_every = 1;
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    std::atomic<int> calls{0};
    const auto holds_the_last_step = [&] {
      const int done = calls++ / 2;  // each rank asks before each step
      if (done == 0) return false;
      EXPECT_EQ(Checkpoint(s.checkpoint).metadata().at("step"), std::to_string(done));
      return false;
    };
    run_parallel(*machine, way, s, holds_the_last_step);
    std::filesystem::remove(s.checkpoint);
  }
}

// Where a batch repeats sequences, because the evaluation part has fewer.
TEST_F(TrainingRunTest, RanksEvaluateOnWhatOneRankDoes) {
  const auto machine = open_machine("host:3");
  TrainingRunSettings s = settings(1);
  std::filesystem::resize_file(path("text"), 410);  // 5 sequences for evaluation
  const double parallel = run_parallel(*machine, Parallel::ddp, s).evaluation_loss.back();
  s.model = tiny(1, 6);
  EXPECT_NEAR(parallel, run(s).evaluation_loss.back(), 1e-5);
}

// Checkpoints do not tell how many ranks there were, nor how they shared the model.
TEST_F(TrainingRunTest, SeveralRanksResumeToTheBitAndAsOthers) {
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    TrainingRunSettings s = settings(9);
    s.model = tiny(3, 2);
    const auto machine = open_machine("host:3");
    s.checkpoint = path("whole");
    const TrainingCurves whole = run_parallel(*machine, way, s);
    s.checkpoint = path("parts");
    std::atomic<int> calls{0};
    EXPECT_THROW(run_parallel(*machine, way, s, [&] { return ++calls > 12; }), Interrupted);
    for (const char* copy : {"alone", "other"}) std::filesystem::copy(path("parts"), path(copy));
    s.resume = true;
    const TrainingCurves rest = run_parallel(*machine, way, s);
    EXPECT_EQ(rest.first_step, 5);
    EXPECT_TRUE(contents(path("whole")) == contents(path("parts")));
    s.model = tiny(3, 6);
    s.checkpoint = path("alone");
    EXPECT_NEAR(run(s).loss.back(), whole.loss.back(), 1e-4);
    s.model = tiny(3, 3);
    s.checkpoint = path("other");
    const auto two = open_machine("host:2");
    const Parallel other = way == Parallel::ddp ? Parallel::zero3 : Parallel::ddp;
    EXPECT_NEAR(run_parallel(*two, other, s).loss.back(), whole.loss.back(), 1e-4);
    for (const char* file : {"whole", "parts", "alone", "other"}) {
      std::filesystem::remove(path(file));
    }
  }
}

TEST_F(TrainingRunTest, ResumesFromNothingAtTheFirstStep) {
  TrainingRunSettings s = settings(3);
  s.checkpoint = path("new");
  s.resume = true;
  EXPECT_EQ(run(s).first_step, 1);
  EXPECT_THROW(TrainingInput{s}, UsageError);  // all steps are done
  s.learning_rate.steps = 4;
  EXPECT_EQ(run(s).first_step, 4);
}

// Steps 1 and 2 are as usual, the third ruins the parameters.
class RuinedRunTest : public TrainingRunTest {
 protected:
  RuinedRunTest() {
    ruined_.learning_rate = {1e-2, 2, 20, 1e40};
    ruined_.clip = INFINITY;
    ruined_.checkpoint = path("good");
    int calls = 0;
    EXPECT_THROW(run(ruined_, [&] { return ++calls > 2; }), Interrupted);
    good_ = contents(path("good"));
    std::filesystem::remove(path("good"));
  }
  void expect_ends_with(const std::string& message) {
    const std::string text = message_of<Error>([&] { run(ruined_); });
    EXPECT_EQ(text.rfind(message, 0), 0u) << text;
    EXPECT_FALSE(good_.empty());
    EXPECT_TRUE(contents(path("good")) == good_);
  }

  TrainingRunSettings ruined_ = settings(20);
  std::string good_;  // the checkpoint of the second step
};

TEST_F(RuinedRunTest, ALossThatIsNotFiniteEndsTheRunAndKeepsTheCheckpoint) {
  ruined_.checkpoint_every = 2;
  expect_ends_with("step 4: ");
}

TEST_F(RuinedRunTest, RuinedParametersAreNotKept) {
  ruined_.checkpoint_every = 1;
  expect_ends_with("step 3: ");
}

TEST_F(TrainingRunTest, AddsUpBatches) {
  TrainingRunSettings s = settings(30);
  s.accumulate = 3;
  const TrainingCurves curves = run(s);
  EXPECT_NEAR(curves.loss.front(), std::log(256), 0.1);  // a mean, not a sum
  EXPECT_LT(curves.loss.back(), 3.5);
  EXPECT_LT(curves.gradient_norm.front(), 5);
}

// fixtures/make_curve.py has run the same steps with PyTorch.
TEST_F(TrainingRunTest, FollowsPyTorchsLosses) {
  std::ofstream file(path("licences"), std::ios::binary);
  for (const char* name : {"GPL-1", "GPL-2", "GPL-3", "MPL-1.1", "MPL-2.0"}) {
    const std::string text = contents(std::string("/usr/share/common-licenses/") + name);
    if (text.empty()) GTEST_SKIP() << "a licence that Debian installs is not here: " << name;
    file << text;
  }
  file.close();
  const auto expected = nlohmann::json::parse(contents(DUET_TRAINING_FIXTURES "/curve.json"));
  ASSERT_EQ(std::filesystem::file_size(path("licences")), expected.at("bytes"))
      << "these licences are of another version";
  TrainingRunSettings s = settings(50);
  s.model = describe_for_text(GptConfig{"tiny", 6, 4, 64, 256, 256, 4, 64});
  s.data = path("licences");
  s.learning_rate = {1e-3, 5, 50, 0.1};
  const TrainingCurves curves = run(s);
  for (std::size_t i = 0; i < curves.loss.size(); ++i) {
    const double reference = expected.at("loss")[i];
    EXPECT_NEAR(curves.loss[i], reference, 1e-4 * reference) << "step " << i + 1;
  }
}

}  // namespace
}  // namespace duet
