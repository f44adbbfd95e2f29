// A tiny GPT beside PyTorch's results of it in double (fixtures/make.py), a tiny Qwen3, also with
// adapters, beside those of the transformers and peft libraries (fixtures/make_qwen3.py), and a
// tiny Qwen3-MoE beside those of the same model in PyTorch (fixtures/make_qwen3_moe.py).
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
#include "training/models/gpt.h"
#include "training/models/qwen3.h"

namespace duet {
namespace {

constexpr double kFixtureDeadline = 60;
constexpr double kFixtureLearningRate = 1e-2;

// Layers, heads, width, FFN width, vocabulary, batch, sequence.
GptConfig gpt_of_fixture() { return {"tiny", 2, 2, 16, 40, 97, 2, 16}; }

Qwen3Config qwen3_of_fixture(const nlohmann::json& config) {
  const auto size = [&config](const char* name) { return config.at(name).get<std::int64_t>(); };
  Qwen3Config made{
      "tiny",        size("layers"),    size("heads"),      size("kv_heads"), size("head_width"),
      size("width"), size("ffn_width"), size("vocabulary"), size("batch"),    size("sequence")};
  if (config.contains("experts")) {
    made.experts = size("experts");
    made.chosen = size("chosen");
  }
  return made;
}

// fixtures/<name>.json.
nlohmann::json read_fixture(const std::string& name) {
  const std::string path = fmt::format(DUET_TRAINING_FIXTURES "/{}.json", name);
  std::ifstream file(path);
  if (!file) {
    throw Error(fmt::format("{}: cannot be read: write it with the program beside it", path));
  }
  return nlohmann::json::parse(file);
}

// Within 0.1 of `middle`.
std::vector<float> random_weights(std::uint64_t seed, std::int64_t count, double middle) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t word = random_word(seed, static_cast<std::uint64_t>(i));
    const double unit = static_cast<double>(word >> 40) / 0x1p24;
    values.push_back(static_cast<float>((unit - 0.5) * 0.2 + middle));
  }
  return values;
}

// Of the parameter at `place` in the model's order, without adapters.
std::vector<float> fixture_weights(const ModelParameter& about, std::size_t place) {
  const bool norm_weight = !about.decays && about.name.find(".weight") != std::string::npos;
  std::vector<float> values = random_weights(100 + place, about.count(), norm_weight ? 1 : 0);
  if (about.name.find("router") == std::string::npos) return values;
  for (float& each : values) each *= 10;
  return values;
}

bool is_adapter(const ModelParameter& about) {
  return about.name.find(".lora_") != std::string::npos;
}

// What the peft library has as a parameter of its own, and Duet as a part of one.
struct AdapterPiece {
  std::string name;       // in the fixture
  std::uint64_t seed;     // of its weights
  std::string parameter;  // Duet's
  RowRange rows, columns;

  std::int64_t count() const { return (rows.last - rows.first) * (columns.last - columns.first); }
};

// Those of "qkv", "attention_out", "ffn_in" or "ffn_out" in a block.
std::vector<AdapterPiece> adapter_pieces(const Qwen3Config& config, std::int64_t layer,
                                         const std::string& linear, std::int64_t in) {
  constexpr std::int64_t kTargets = 7;
  std::vector<AdapterPiece> pieces;
  const std::string block = fmt::format("block.{}.", layer);
  RowRange own{0, config.lora.rank};
  for (const LinearPart& part : parts_of(config, linear)) {
    const std::string long_name = name(part.target);  // "q_proj"
    const std::string target = block + long_name.substr(0, long_name.find('_'));
    const auto seed = static_cast<std::uint64_t>(
        1000 + 2 * (layer * kTargets + static_cast<std::int64_t>(part.target)));
    pieces.push_back({target + ".lora_a", seed, block + linear + ".lora_a", own, {0, in}});
    pieces.push_back({target + ".lora_b", seed + 1, block + linear + ".lora_b", part.rows, own});
    own = {own.last, own.last + config.lora.rank};
  }
  return pieces;
}

std::vector<AdapterPiece> adapter_pieces(const Qwen3Config& config) {
  std::vector<AdapterPiece> all;
  const std::pair<const char*, std::int64_t> linears[] = {
      {"qkv", config.width},
      {"attention_out", config.attention().width()},
      {"ffn_in", config.width},
      {"ffn_out", config.ffn_width}};
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    for (const auto& [linear, in] : linears) {
      for (const AdapterPiece& each : adapter_pieces(config, layer, linear, in)) {
        all.push_back(each);
      }
    }
  }
  return all;
}

// Of a model and a machine.
class FixtureTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    const auto& [model, machine] = GetParam();
    const bool adapted = std::string(model) == "lora";
    expected_ = read_fixture(adapted ? "qwen3" : model);
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
      Qwen3Config config = qwen3_of_fixture(expected_.at("config"));
      if (adapted) {
        expected_ = nlohmann::json(expected_.at("lora"));
        config.lora = {expected_.at("rank"), expected_.at("alpha"), all_lora_targets()};
        adapters_ = adapter_pieces(config);
      }
      make_model<Qwen3>(config);
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
      if (is_adapter(each.about)) continue;
      const std::vector<float> values = fixture_weights(each.about, place++);
      const Span& all = each.tensors.parameters.span;  // may have rows after the values
      device_->write(all.slice(0, values.size() * sizeof(float)), values.data());
    }
    for (const AdapterPiece& each : adapters_) {
      write_piece(weight_of(*model, each), each, random_weights(each.seed, each.count(), 0));
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

  static const Tensor& weight_of(const Model& model, const AdapterPiece& piece) {
    return model.parameters().weight(model.parameters().find(piece.parameter));
  }

  // Calls visit(a row's span, its place in a piece) for all rows.
  template <typename Visit>
  static void for_each_row(const Tensor& tensor, const AdapterPiece& piece, const Visit& visit) {
    const std::int64_t width = piece.columns.last - piece.columns.first;
    for (std::int64_t row = piece.rows.first; row < piece.rows.last; ++row) {
      const auto first = static_cast<std::uint64_t>(row * tensor.columns + piece.columns.first);
      visit(tensor.span.slice(first * sizeof(float),
                              static_cast<std::uint64_t>(width) * sizeof(float)),
            (row - piece.rows.first) * width);
    }
  }

  void write_piece(const Tensor& tensor, const AdapterPiece& piece,
                   const std::vector<float>& values) {
    for_each_row(tensor, piece, [&](const Span& row, std::int64_t at) {
      device_->write(row, values.data() + at);
    });
  }

  std::vector<float> read_piece(const Tensor& tensor, const AdapterPiece& piece) {
    std::vector<float> values(static_cast<std::size_t>(piece.count()));
    for_each_row(tensor, piece,
                 [&](const Span& row, std::int64_t at) { device_->read(row, values.data() + at); });
    return values;
  }

  // By name, in the fixture's order.
  std::vector<std::pair<std::string, std::vector<float>>> gradients() {
    std::vector<std::pair<std::string, std::vector<float>>> all;
    const Parameters& parameters = model_->parameters();
    for (const AdapterPiece& each : adapters_) {
      all.emplace_back(each.name,
                       read_piece(parameters.gradient(parameters.find(each.parameter)), each));
    }
    if (!adapters_.empty()) return all;
    for (const TrainedParameter& each : parameters.all()) {
      all.emplace_back(each.about.name, gradient(each));
    }
    return all;
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
  std::vector<AdapterPiece> adapters_;  // the fixture's parameters, if there are any
  std::unique_ptr<Stream> stream_;
};

TEST_P(FixtureTest, TheLossIsTheLibrarys) {
  EXPECT_NEAR(run(), expected_.at("loss").get<double>(), 1e-5);
}

TEST_P(FixtureTest, GradientsAreTheLibrarys) {
  run();
  const nlohmann::json& expected = expected_.at("gradients");
  const auto found = gradients();
  ASSERT_EQ(expected.size(), found.size());
  std::size_t place = 0;
  for (const auto& [name, own] : found) {
    const nlohmann::json& reference = expected[place++];
    ASSERT_EQ(reference.at("name"), name);
    const auto values = reference.at("values").get<std::vector<double>>();
    ASSERT_EQ(values.size(), own.size()) << name;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      difference += std::pow(static_cast<double>(own[i]) - values[i], 2);
      norm += values[i] * values[i];
    }
    EXPECT_LT(std::sqrt(difference), 1e-4 * std::sqrt(norm)) << name;
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

INSTANTIATE_TEST_SUITE_P(Experts, FixtureTest,
                         ::testing::Combine(::testing::Values("qwen3_moe"),
                                            ::testing::Values("host", "sim:h200", "cuda")),
                         [](const auto& about) {
                           const std::string device = std::get<1>(about.param);
                           return fmt::format("{}_{}", std::get<0>(about.param),
                                              device.substr(0, device.find(':')));
                         });

INSTANTIATE_TEST_SUITE_P(Models, FixtureTest,
                         ::testing::Combine(::testing::Values("gpt", "qwen3", "lora"),
                                            ::testing::Values("host", "cuda")),
                         [](const auto& about) {
                           return fmt::format("{}_{}", std::get<0>(about.param),
                                              std::get<1>(about.param));
                         });

}  // namespace
}  // namespace duet
