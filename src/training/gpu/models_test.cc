// Whole models on a device.
#include "training/gpu/operations_fixture.h"
#include "training/models/qwen3.h"

namespace duet {
namespace {

class DeviceModels : public DeviceOperations {};

// Layers, heads, width, FFN width, vocabulary, batch, sequence.
GptConfig small_gpt() { return {"small", 2, 2, 64, 136, 203, 3, kEmulated ? 12 : 64}; }

Recipe recipe_of(DType dtype) { return find_recipe(dtype == DType::fp32 ? "fp32" : "amp"); }

void run_step(TokenModel& model, Device& device, Stream& stream) {
  model.initialise(1);
  const StepState state{0, 5, 1e-3, 1};
  device.write(model.state(), &state);
  model.begin_step(stream);
  model.make_random_input(stream, 0);
  model.forward(stream);
  model.backward(stream, Accumulate::no);
  stream.synchronize(kDeviceDeadline);
}

TEST_P(DeviceModels, TrainAGptLikeTheHost) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  Gpt expected(small_gpt(), find_recipe("fp32"), {}, host_, *host_operations_);
  Gpt found(small_gpt(), recipe_of(dtype()), {}, *device_, *operations_);
  expected.allocate();
  found.allocate();
  run_step(expected, host_, *host_stream_);
  run_step(found, *device_, *stream_);
  const double of_gradients = dtype() == DType::fp32 ? 1e-4 : 3e-2;
  expect_same({expected.loss(), found.loss()}, "loss", dtype() == DType::fp32 ? 1e-6 : 1e-3);
  for (std::size_t i = 0; i < found.parameters().all().size(); ++i) {
    expect_same({expected.parameters().all()[i].tensors.gradients,
                 found.parameters().all()[i].tensors.gradients},
                found.parameters().all()[i].about.name.c_str(), of_gradients);
  }
}

// In bf16 tokens whose experts are nearly equal choose others than in fp32: losses differ little,
// gradients of experts much.
TEST_P(DeviceModels, TrainAMixtureOfExpertsLikeTheHost) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  const Qwen3Config config = find_qwen3_moe("tiny");
  Qwen3 expected(config, find_recipe("fp32"), {}, host_, *host_operations_);
  Qwen3 found(config, recipe_of(dtype()), {}, *device_, *operations_);
  expected.allocate();
  found.allocate();
  run_step(expected, host_, *host_stream_);
  run_step(found, *device_, *stream_);
  const bool fp32 = dtype() == DType::fp32;
  expect_same({expected.loss(), found.loss()}, "loss", fp32 ? 1e-6 : 1e-2);
  for (std::size_t i = 0; fp32 && i < found.parameters().all().size(); ++i) {
    expect_same({expected.parameters().gradient(i), found.parameters().gradient(i)},
                found.parameters().all()[i].about.name.c_str(), 1e-4);
  }
}

TEST_P(DeviceModels, TrainAQwen3InFp8LikeTheHost) {
  if (kEmulated || dtype() == DType::fp32) GTEST_SKIP() << "of devices that multiply fp8";
  const Qwen3Config config = find_qwen3("tiny");
  const Recipe on_host{"fp8 of fp32", DType::fp32, DType::fp32, DType::fp32, false, true};
  Qwen3 expected(config, on_host, {}, host_, *host_operations_);
  Qwen3 found(config, find_recipe("fp8"), {}, *device_, *operations_);
  expected.allocate();
  found.allocate();
  run_step(expected, host_, *host_stream_);
  run_step(found, *device_, *stream_);
  expect_same({expected.loss(), found.loss()}, "loss", 1e-2);
  for (std::size_t i = 0; i < found.parameters().all().size(); ++i) {
    const Pair gradients{expected.parameters().gradient(i), found.parameters().gradient(i)};
    if (gradients.host.rows == 1) continue;  // norms: few elements, in whose sums much cancels
    expect_same(gradients, found.parameters().all()[i].about.name.c_str(), 0.15);
  }
}

TEST_P(DeviceModels, RepeatAStepToTheBit) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  const Recipe recipe = find_recipe(dtype() == DType::fp32 ? "fp32" : "bf16");
  GptConfig config = small_gpt();
  if (!kEmulated) config.sequence = 512;  // several tiles of attention, and rows of a norm's block
  Gpt model(config, recipe, {}, *device_, *operations_);
  model.allocate();
  std::vector<std::vector<float>> before;
  for (int run = 0; run < (kEmulated ? 2 : 5); ++run) {
    run_step(model, *device_, *stream_);
    model.update(*stream_);
    stream_->synchronize(kDeviceDeadline);
    std::vector<std::vector<float>> now;
    for (const TrainedParameter& each : model.parameters().all())
      now.push_back(read(each.tensors.parameters));
    if (run > 0) {
      EXPECT_EQ(now, before);
    }
    before = std::move(now);
  }
}

// Gradients are poisoned first, so that an update that does not wait for them shows.
TEST_P(DeviceModels, UpdateBesideTheBackwardPassToTheSameBits) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  const Recipe recipe = find_recipe(dtype() == DType::fp32 ? "fp32" : "bf16");
  Gpt model(small_gpt(), recipe, {}, *device_, *operations_);
  model.allocate();
  ForkedStream updates(*device_, {});
  std::vector<std::vector<float>> after;
  for (const bool beside : {false, true}) {
    model.initialise(1);
    for (const Tensor& each : model.parameters().gradients()) {
      stream_->fill(each.span, {FillKind::constant, 0xFF});
    }
    const StepState state{0, 5, 1e-3, 1};
    device_->write(model.state(), &state);
    for (int step = 0; step < 2; ++step) {
      model.begin_step(*stream_);
      model.make_random_input(*stream_, 0);
      model.forward(*stream_);
      if (beside) {
        model.backward_beside_update(*stream_, updates, Accumulate::no);
      } else {
        model.backward(*stream_, Accumulate::no);
        model.update(*stream_);
      }
    }
    stream_->synchronize(kDeviceDeadline);
    std::vector<std::vector<float>> now;
    for (const TrainedParameter& each : model.parameters().all()) {
      now.push_back(read(each.tensors.parameters));
    }
    if (beside) {
      EXPECT_EQ(now, after);
    }
    after = std::move(now);
  }
}

// Tuned, captured, replayed and verified, with gradients in another type as well.
TEST_P(DeviceModels, MeasureVerifiedSteps) {
  if (kEmulated) GTEST_SKIP() << "the work makes the host's operations";
  GptConfig recomputing = small_gpt();
  recomputing.recompute = Recompute::block;
  Qwen3Config adapted = find_qwen3("tiny");
  adapted.lora = {8, 16, all_lora_targets()};
  const bool fp32 = dtype() == DType::fp32;
  for (const char* recipe : {fp32 ? "fp32" : "amp", fp32 ? "fp32" : "bf16"}) {
    for (const std::int64_t accumulate : {1, 2}) {
      for (const ModelDescription& model :
           {describe(small_gpt()), describe(recomputing), describe(MlpConfig{{64, 128, 72}, 32}),
            describe(find_qwen3("tiny")), describe(adapted), describe(find_qwen3_moe("tiny"))}) {
        Team team(*machine_, {0});
        Optimizer optimizer;
        if (model.name == "mlp") optimizer.kind = OptimizerKind::sgd;
        TrainingWork work(team, model, {find_recipe(recipe), optimizer, accumulate});
        Mode mode;
        mode.min_iterations = mode.max_iterations = 3;
        EXPECT_TRUE(Sampler(team).measure(work, mode).verified) << model.name << " " << recipe;
      }
    }
  }
}

TEST_P(DeviceModels, MeasureVerifiedStepsInFp8) {
  if (kEmulated || dtype() == DType::fp32) GTEST_SKIP() << "of devices that multiply fp8";
  for (const Recompute recompute : {Recompute::none, Recompute::attention, Recompute::block}) {
    for (const std::int64_t accumulate : {1, 2}) {
      Qwen3Config config = find_qwen3("tiny");
      config.recompute = recompute;
      Team team(*machine_, {0});
      TrainingWork work(team, describe(config), {find_recipe("fp8"), {}, accumulate});
      Mode mode;
      mode.min_iterations = mode.max_iterations = 3;
      EXPECT_TRUE(Sampler(team).measure(work, mode).verified) << name(recompute);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, DeviceModels,
                         ::testing::Combine(::testing::ValuesIn(kDevices),
                                            ::testing::Values(DType::fp32, DType::bf16)),
                         label);

}  // namespace
}  // namespace duet
