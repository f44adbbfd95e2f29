#include "training/models/qwen3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"
#include "training/models/derivative_fixture.h"
#include "training/models/recipe_fixture.h"

namespace duet {
namespace {

constexpr double kQwen3Deadline = 60;

// Odd sizes, and more tokens than are a piece of the head.
Qwen3Config odd_qwen3(Recompute recompute = Recompute::none) {
  return {"odd", 2, 6, 2, 10, 28, 44, 37, 3, 350, recompute};
}

struct Similarity {
  double cosine, norms;  // the second is a ratio
};
Similarity similarity(const std::vector<float>& expected, const std::vector<float>& found) {
  double both = 0, of_expected = 0, of_found = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = static_cast<double>(expected[i]), b = static_cast<double>(found[i]);
    both += a * b;
    of_expected += a * a;
    of_found += b * b;
  }
  return {both / std::sqrt(of_expected * of_found), std::sqrt(of_found / of_expected)};
}

class Qwen3Test : public ::testing::Test {
 protected:
  // A model with the tokens that all have.
  struct Own {
    Own(Device& device, Operations& operations, const Qwen3Config& config,
        const Recipe& recipe = find_recipe("fp32"))
        : model(config, recipe, {}, device, operations) {
      model.allocate();
      model.initialise(1);
      const auto words = [&](std::uint64_t seed) {
        std::vector<std::int32_t> all;
        for (std::int64_t i = 0; i < config.tokens(); ++i) {
          const std::uint64_t word = random_word(seed, static_cast<std::uint64_t>(i));
          all.push_back(static_cast<std::int32_t>(word % 37));
        }
        return all;
      };
      device.write(model.tokens().span, words(5).data());
      device.write(model.targets().span, words(6).data());
    }
    Qwen3 model;
  };

  double loss(Qwen3& model) {
    model.forward(*stream_);
    model.evaluate(*stream_);
    stream_->synchronize(kQwen3Deadline);
    return static_cast<double>(*reinterpret_cast<float*>(model.loss().span.data));
  }
  void gradients(Qwen3& model, Accumulate accumulate = Accumulate::no) {
    model.forward(*stream_);
    model.backward(*stream_, accumulate);
    stream_->synchronize(kQwen3Deadline);
  }
  static float* data(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.span.data); }
  static std::vector<float> values(const Tensor& tensor) {
    return {data(tensor), data(tensor) + tensor.count()};
  }

  std::unique_ptr<Machine> machine_ = open_machine("host");
  Device& device_ = machine_->device(0);
  std::unique_ptr<Operations> operations_ = make_operations(device_);
  std::unique_ptr<Stream> stream_ = device_.make_stream();
};

TEST_F(Qwen3Test, StartsNearTheLossOfAGuess) {
  Own own(device_, *operations_, odd_qwen3());
  EXPECT_NEAR(loss(own.model), std::log(37.0), 0.05);
}

TEST_F(Qwen3Test, BackwardIsTheDerivativeOfTheLoss) {
  Own own(device_, *operations_, odd_qwen3());
  gradients(own.model);
  expect_differences_of_loss(
      own.model.parameters(), [&] { return loss(own.model); }, 0.03, 3e-5);
}

TEST_F(Qwen3Test, GradientsAreAdded) {
  Own own(device_, *operations_, odd_qwen3());
  gradients(own.model);
  std::vector<std::vector<float>> once;
  for (const TrainedParameter& each : own.model.parameters().all()) {
    once.push_back(values(each.tensors.gradients));
  }
  gradients(own.model, Accumulate::yes);
  for (std::size_t i = 0; i < once.size(); ++i) {
    const TrainedParameter& each = own.model.parameters().all()[i];
    const std::vector<float> twice = values(each.tensors.gradients);
    for (std::size_t j = 0; j < twice.size(); ++j) {
      ASSERT_NEAR(twice[j], 2 * once[i][j], 1e-6 + 1e-4 * std::abs(once[i][j])) << each.about.name;
    }
  }
}

TEST_F(Qwen3Test, RecomputingChangesNoBit) {
  for (const Recipe& recipe : {find_recipe("fp32"), fp8_on_hosts()}) {
    Own kept(device_, *operations_, odd_qwen3(), recipe);
    gradients(kept.model);
    std::uint64_t bytes = kept.model.memory().bytes(MemoryUse::activations);
    for (const Recompute recompute : {Recompute::attention, Recompute::block}) {
      Own other(device_, *operations_, odd_qwen3(recompute), recipe);
      gradients(other.model);
      EXPECT_LT(other.model.memory().bytes(MemoryUse::activations), bytes);
      bytes = other.model.memory().bytes(MemoryUse::activations);
      for (std::size_t i = 0; i < kept.model.parameters().all().size(); ++i) {
        EXPECT_TRUE(values(other.model.parameters().gradient(i)) ==
                    values(kept.model.parameters().gradient(i)))
            << recipe.name << ", " << kept.model.parameters().all()[i].about.name;
      }
    }
  }
}

// Gradients of the norms of heads are few elements, sums in which much cancels.
TEST_F(Qwen3Test, GradientsInFp8AreNearThoseInFp32) {
  Own whole(device_, *operations_, find_qwen3("tiny")),
      quantised(device_, *operations_, find_qwen3("tiny"), fp8_on_hosts());
  gradients(whole.model);
  gradients(quantised.model);
  EXPECT_LT(quantised.model.memory().bytes(MemoryUse::activations),
            whole.model.memory().bytes(MemoryUse::activations));
  for (std::size_t i = 0; i < whole.model.parameters().all().size(); ++i) {
    const std::vector<float> expected = values(whole.model.parameters().gradient(i)),
                             found = values(quantised.model.parameters().gradient(i));
    const Similarity near = similarity(expected, found);
    const std::string& name = whole.model.parameters().all()[i].about.name;
    const bool matrix = whole.model.parameters().gradient(i).rows > 1;
    EXPECT_GT(near.cosine, matrix ? 0.99 : 0.97) << name;
    EXPECT_NEAR(near.norms, 1, matrix ? 0.05 : 0.1) << name;
    if (name.rfind("block.", 0) == 0) {
      EXPECT_FALSE(found == expected) << name;
    }
  }
}

TEST_F(Qwen3Test, TellsOfEachParameterOnceThatItsGradientIsComplete) {
  Own own(device_, *operations_, odd_qwen3());
  std::vector<int> told(own.model.parameters().all().size());
  own.model.forward(*stream_);
  own.model.backward(*stream_, Accumulate::no, [&](const ParameterRange& range) {
    for (std::size_t i = range.first; i < range.last; ++i) ++told.at(i);
  });
  stream_->synchronize(kQwen3Deadline);
  EXPECT_EQ(told, std::vector<int>(told.size(), 1));
}

Qwen3Config with_adapters(Qwen3Config config) {
  config.lora = {3, 6, {LoraTarget::q, LoraTarget::v, LoraTarget::o, LoraTarget::up}};
  return config;
}

// b begins as 0, so that gradients are taken after a first step.
TEST_F(Qwen3Test, AdaptersAloneAreTrained) {
  Own own(device_, *operations_, with_adapters(odd_qwen3()));
  const Parameters& parameters = own.model.parameters();
  const auto weights = [&] {
    std::map<std::string, std::vector<float>> all;
    for (const TrainedParameter& each : parameters.all()) {
      all[each.about.name] = values(each.tensors.parameters);
    }
    return all;
  };
  const auto before = weights();
  double losses[2];
  for (int step = 0; step < 2; ++step) {
    gradients(own.model);
    losses[step] = loss(own.model);
    const StepState state{step + 1, 0, 1e-3, 1};
    device_.write(own.model.state(), &state);
    own.model.update(*stream_);
    stream_->synchronize(kQwen3Deadline);
  }
  EXPECT_LT(losses[1], losses[0]);
  std::int64_t adapters = 0;
  for (const auto& [name, now] : weights()) {
    const bool is_adapter = name.find(".lora_") != std::string::npos;
    EXPECT_EQ(now != before.at(name), is_adapter) << name;
    if (is_adapter) adapters += static_cast<std::int64_t>(now.size());
  }
  // Gradients and states are those of the adapters: with gaps to the next multiple of 128.
  const auto bytes = static_cast<std::uint64_t>(4 * adapters);
  EXPECT_GE(own.model.memory().bytes(MemoryUse::gradients), bytes);
  EXPECT_LT(own.model.memory().bytes(MemoryUse::gradients), bytes + 4 * 128 * 12);
}

TEST_F(Qwen3Test, RecomputingChangesNoBitOfAdaptersGradients) {
  for (const Recipe& recipe : {find_recipe("fp32"), fp8_on_hosts()}) {
    std::vector<std::vector<float>> expected;
    for (const Recompute recompute : {Recompute::none, Recompute::attention, Recompute::block}) {
      Own own(device_, *operations_, with_adapters(odd_qwen3(recompute)), recipe);
      gradients(own.model);
      std::vector<std::vector<float>> found;
      for (const Parameters::Kept& each : own.model.parameters().trained()) {
        found.push_back(values(each.tensors.gradients));
      }
      if (expected.empty()) expected = found;
      EXPECT_TRUE(found == expected) << recipe.name;
    }
  }
}

// The frozen linears multiply in fp8, their adapters do not.
TEST_F(Qwen3Test, AdaptersOfLinearsInFp8HaveNearlyTheGradientsOfFp32) {
  std::vector<std::vector<float>> found[2];
  for (const bool fp8 : {false, true}) {
    Own own(device_, *operations_, with_adapters(find_qwen3("tiny")),
            fp8 ? fp8_on_hosts() : find_recipe("fp32"));
    for (const Parameters::Kept& each : own.model.parameters().trained()) {
      float* const weights = data(each.tensors.parameters);
      for (std::int64_t i = 0; i < each.tensors.parameters.count(); ++i) {
        weights[i] = 0.1f * random_normal(each.parameter, static_cast<std::uint64_t>(i));
      }
    }
    gradients(own.model);
    for (const Parameters::Kept& each : own.model.parameters().trained()) {
      found[fp8 ? 1 : 0].push_back(values(each.tensors.gradients));
    }
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    const Similarity near = similarity(found[0][i], found[1][i]);
    EXPECT_GT(near.cosine, 0.97) << i;
    EXPECT_NEAR(near.norms, 1, 0.1) << i;
    EXPECT_FALSE(found[0][i] == found[1][i]);
  }
}

// 36 layers, and 49.1 GFLOP a token by 6N.
TEST(Qwen3Config, CountsAsTheModelCardDoes) {
  const Qwen3Config config = find_qwen3("8b");
  EXPECT_EQ(parameter_count(config), 8190735360);
  const TrainingFlop flop = flop_per_token(config);
  EXPECT_DOUBLE_EQ(flop.six_n, 6 * 8190735360.0);
  EXPECT_DOUBLE_EQ(flop.model, 6 * 7568097280.0 + 6 * 36 * 8192 * 4096.0);
  EXPECT_DOUBLE_EQ(flop.hardware, flop.model + 36 * 8192 * 4096.0);
}

TEST(Qwen3Config, NamesWhatIsWrong) {
  const std::string good =
      "[[model]]\nname = \"x\"\nlayers = 1\nheads = 4\nkv_heads = 2\nhead_width = 8\nwidth = 4\n"
      "ffn_width = 4\nvocabulary = 9\nbatch = 1\nsequence = 2\n";
  EXPECT_EQ(read_qwen3_configs("x.toml", good).front().kv_heads, 2);
  const auto refusal = [&](const std::string& old, const std::string& now) {
    std::string text = good;
    text.replace(text.find(old), old.size(), now);
    try {
      read_qwen3_configs("x.toml", text);
      return std::string();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(refusal("kv_heads = 2", "kv_heads = 3").find("a divisor of the 4 heads"),
            std::string::npos);
  EXPECT_NE(refusal("head_width = 8", "head_width = 7").find("an even number"), std::string::npos);
  EXPECT_THROW(find_qwen3("9b"), UsageError);
}

}  // namespace
}  // namespace duet
