// A tiny GPT beside PyTorch's results of it in double (fixtures/make.py), and a tiny Qwen3 beside
// those of the transformers library (fixtures/make_qwen3.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"
#include "training/gpt.h"
#include "training/qwen3.h"

namespace duet {
namespace {

constexpr double kFixtureDeadline = 60;
constexpr double kFixtureLearningRate = 1e-2;

// Layers, heads, width, FFN width, vocabulary, batch, sequence.
GptConfig gpt_of_fixture() { return {"tiny", 2, 2, 16, 40, 97, 2, 16}; }

Qwen3Config qwen3_of_fixture(const nlohmann::json& config) {
  const auto size = [&config](const char* name) { return config.at(name).get<std::int64_t>(); };
  return {
      "tiny",        size("layers"),    size("heads"),      size("kv_heads"), size("head_width"),
      size("width"), size("ffn_width"), size("vocabulary"), size("batch"),    size("sequence")};
}

// fixtures/<model>.json.
nlohmann::json read_fixture(const std::string& model) {
  const std::string path = fmt::format(DUET_TRAINING_FIXTURES "/{}.json", model);
  std::ifstream file(path);
  if (!file) {
    throw Error(fmt::format("{}: cannot be read: write it with the program beside it", path));
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

// Of a model and a machine.
class FixtureTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    const auto& [model, machine] = GetParam();
    expected_ = read_fixture(model);
    try {
      machine_ = open_machine(machine);
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
    device_ = &machine_->device(0);
    operations_ = make_operations(*device_);
    stream_ = device_->make_stream();
    if (std::string(model) == "gpt") {
      make_model<Gpt>(gpt_of_fixture());
    } else {
      make_model<Qwen3>(qwen3_of_fixture(expected_.at("config")));
    }
  }

  template <typename TokenModel, typename Config>
  void make_model(const Config& config) {
    auto model = std::make_unique<TokenModel>(config, find_recipe("fp32"), Optimizer{}, *device_,
                                              *operations_);
    model->allocate();
    model->initialise(1);
    std::size_t place = 0;
    for (const TrainedParameter& each : model->parameters().all()) {
      const std::vector<float> values = fixture_weights(each.about, place++);
      const Span& all = each.tensors.parameters.span;  // may have rows behind the values
      device_->write(all.slice(0, values.size() * sizeof(float)), values.data());
    }
    const auto vocabulary = static_cast<std::uint64_t>(config.vocabulary);
    write_tokens(model->tokens(), 5, vocabulary);
    write_tokens(model->targets(), 6, vocabulary);
    model_ = std::move(model);
  }

  void write_tokens(const Tensor& tensor, std::uint64_t seed, std::uint64_t vocabulary) {
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
  std::unique_ptr<Model> model_;
  std::unique_ptr<Stream> stream_;
};

TEST_P(FixtureTest, TheLossIsTheLibrarys) {
  EXPECT_NEAR(run(), expected_.at("loss").get<double>(), 1e-5);
}

TEST_P(FixtureTest, GradientsAreTheLibrarys) {
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

TEST_P(FixtureTest, StepsOfAdamWAreTheLibrarys) {
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

INSTANTIATE_TEST_SUITE_P(Models, FixtureTest,
                         ::testing::Combine(::testing::Values("gpt", "qwen3"),
                                            ::testing::Values("host", "cuda")),
                         [](const auto& about) {
                           return fmt::format("{}_{}", std::get<0>(about.param),
                                              std::get<1>(about.param));
                         });

}  // namespace
}  // namespace duet
