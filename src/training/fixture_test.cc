// A tiny GPT beside PyTorch's results of it in double (fixtures/make.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"
#include "training/gpt.h"

namespace duet {
namespace {

constexpr double kFixtureDeadline = 60;
constexpr double kFixtureLearningRate = 1e-2;

// Layers, heads, width, FFN width, vocabulary, batch, sequence.
GptConfig config_of_fixture() { return {"tiny", 2, 2, 16, 40, 97, 2, 16}; }

nlohmann::json read_fixture() {
  const std::string path = DUET_TRAINING_FIXTURES "/gpt.json";
  std::ifstream file(path);
  if (!file) {
    throw Error(fmt::format("{}: cannot be read: write it with fixtures/make.py", path));
  }
  return nlohmann::json::parse(file);
}

// Of the parameter at `place` in the model's order; within 0.1 of 0, or of 1 for weights of norms.
std::vector<float> fixture_weights(const ModelParameter& about, std::size_t place) {
  const bool norm_weight = !about.decays && about.name.find(".weight") != std::string::npos;
  std::vector<float> values;
  for (std::int64_t i = 0; i < about.count(); ++i) {
    const std::uint64_t word = random_word(100 + place, static_cast<std::uint64_t>(i));
    const double unit = static_cast<double>(word >> 40) / 0x1p24;
    values.push_back(static_cast<float>((unit - 0.5) * 0.2 + (norm_weight ? 1 : 0)));
  }
  return values;
}

class FixtureTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    expected_ = read_fixture();
    try {
      machine_ = open_machine(GetParam());
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
    device_ = &machine_->device(0);
    operations_ = make_operations(*device_);
    model_ = std::make_unique<Gpt>(config_of_fixture(), find_recipe("fp32"), Optimizer{}, *device_,
                                   *operations_);
    stream_ = device_->make_stream();
    model_->allocate();
    model_->initialise(1);
    std::size_t place = 0;
    for (const TrainedParameter& each : model_->parameters().all()) {
      const std::vector<float> values = fixture_weights(each.about, place++);
      const Span& all = each.tensors.parameters.span;  // may have rows behind the values
      device_->write(all.slice(0, values.size() * sizeof(float)), values.data());
    }
    write_tokens(model_->tokens(), 5);
    write_tokens(model_->targets(), 6);
  }

  void write_tokens(const Tensor& tensor, std::uint64_t seed) {
    const auto vocabulary = static_cast<std::uint64_t>(model_->config().vocabulary);
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      const std::uint64_t word = random_word(seed, static_cast<std::uint64_t>(i));
      tokens.push_back(static_cast<std::int32_t>(word % vocabulary));
    }
    device_->write(tensor.span, tokens.data());
  }

  // Runs forward and backward pass, and returns the loss.
  double run() {
    model_->forward(*stream_);
    model_->backward(*stream_, Accumulate::no);
    stream_->synchronize(kFixtureDeadline);
    float loss = 0;
    device_->read(model_->loss().span, &loss);
    return static_cast<double>(loss);
  }

  std::vector<float> gradient(const TrainedParameter& parameter) {
    std::vector<float> values(static_cast<std::size_t>(parameter.about.count()));
    const Span& all = parameter.tensors.gradients.span;
    device_->read(all.slice(0, values.size() * sizeof(float)), values.data());
    return values;
  }

  nlohmann::json expected_;
  std::unique_ptr<Machine> machine_;
  Device* device_ = nullptr;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<Gpt> model_;
  std::unique_ptr<Stream> stream_;
};

TEST_P(FixtureTest, TheLossIsPyTorchs) {
  EXPECT_NEAR(run(), expected_.at("loss").get<double>(), 1e-5);
}

TEST_P(FixtureTest, GradientsArePyTorchs) {
  run();
  const nlohmann::json& gradients = expected_.at("gradients");
  ASSERT_EQ(gradients.size(), model_->parameters().all().size());
  std::size_t place = 0;
  for (const TrainedParameter& each : model_->parameters().all()) {
    const nlohmann::json& reference = gradients[place++];
    ASSERT_EQ(reference.at("name"), each.about.name);
    const auto values = reference.at("values").get<std::vector<double>>();
    const std::vector<float> own = gradient(each);
    ASSERT_EQ(values.size(), own.size()) << each.about.name;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      difference += std::pow(static_cast<double>(own[i]) - values[i], 2);
      norm += values[i] * values[i];
    }
    EXPECT_LT(std::sqrt(difference), 1e-4 * std::sqrt(norm)) << each.about.name;
  }
}

TEST_P(FixtureTest, StepsOfAdamWArePyTorchs) {
  run();
  std::int64_t step = 0;
  for (const nlohmann::json& loss : expected_.at("losses")) {
    const StepState state{++step, 0, kFixtureLearningRate, 1};
    device_->write(model_->state(), &state);
    model_->update(*stream_);
    EXPECT_NEAR(run(), loss.get<double>(), 1e-3) << "after step " << step;
  }
  EXPECT_EQ(step, 10);
}

INSTANTIATE_TEST_SUITE_P(Devices, FixtureTest, ::testing::Values("host", "cuda"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace duet
