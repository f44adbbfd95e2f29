#include "training/models/qwen3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "core/message_fixture.h"
#include "training/models/recipe_fixture.h"
#include "training/operations/on_host_fixture.h"

namespace duet {
namespace {

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

class Qwen3Test : public OnHost {
 protected:
  // A model with the tokens that all have.
  std::unique_ptr<Qwen3> made(const Qwen3Config& config, const Recipe& recipe) {
    auto model = std::make_unique<Qwen3>(config, recipe, Optimizer{}, device_, *operations_);
    model->allocate();
    model->initialise(1);
    write_tokens(model->tokens(), 5, 37);
    write_tokens(model->targets(), 6, 37);
    return model;
  }
};

TEST_F(Qwen3Test, RecomputingInFp8ChangesNoBit) {
  const auto kept = made(odd_qwen3(), fp8_on_hosts());
  gradients(*kept);
  std::uint64_t bytes = kept->memory().bytes(MemoryUse::activations);
  for (const Recompute recompute : {Recompute::attention, Recompute::block}) {
    const auto other = made(odd_qwen3(recompute), fp8_on_hosts());
    gradients(*other);
    EXPECT_LT(other->memory().bytes(MemoryUse::activations), bytes);
    bytes = other->memory().bytes(MemoryUse::activations);
    for (std::size_t i = 0; i < kept->parameters().all().size(); ++i) {
      EXPECT_TRUE(values(other->parameters().gradient(i)) == values(kept->parameters().gradient(i)))
          << kept->parameters().all()[i].about.name;
    }
  }
}

// Gradients of the norms of heads are few elements, sums in which much cancels.
TEST_F(Qwen3Test, GradientsInFp8AreNearThoseInFp32) {
  const auto whole = made(find_qwen3("tiny"), find_recipe("fp32")),
             quantised = made(find_qwen3("tiny"), fp8_on_hosts());
  gradients(*whole);
  gradients(*quantised);
  EXPECT_LT(quantised->memory().bytes(MemoryUse::activations),
            whole->memory().bytes(MemoryUse::activations));
  for (std::size_t i = 0; i < whole->parameters().all().size(); ++i) {
    const std::vector<float> expected = values(whole->parameters().gradient(i)),
                             found = values(quantised->parameters().gradient(i));
    const Similarity near = similarity(expected, found);
    const std::string& name = whole->parameters().all()[i].about.name;
    const bool matrix = whole->parameters().gradient(i).rows > 1;
    EXPECT_GT(near.cosine, matrix ? 0.99 : 0.97) << name;
    EXPECT_NEAR(near.norms, 1, matrix ? 0.05 : 0.1) << name;
    if (name.rfind("block.", 0) == 0) {
      EXPECT_FALSE(found == expected) << name;
    }
  }
}

Qwen3Config with_adapters(Qwen3Config config) {
  config.lora = {3, 6, {LoraTarget::q, LoraTarget::v, LoraTarget::o, LoraTarget::up}};
  return config;
}

// b begins as 0, so that gradients are taken after a first step.
TEST_F(Qwen3Test, AdaptersAloneAreTrained) {
  const auto own = made(with_adapters(odd_qwen3()), find_recipe("fp32"));
  const Parameters& parameters = own->parameters();
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
    gradients(*own);
    losses[step] = loss(*own);
    const StepState state{step + 1, 0, 1e-3, 1};
    device_.write(own->state(), &state);
    own->update(*stream_);
    synchronize();
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
  EXPECT_GE(own->memory().bytes(MemoryUse::gradients), bytes);
  EXPECT_LT(own->memory().bytes(MemoryUse::gradients), bytes + 4 * 128 * 12);
}

TEST_F(Qwen3Test, RecomputingChangesNoBitOfAdaptersGradients) {
  for (const Recipe& recipe : {find_recipe("fp32"), fp8_on_hosts()}) {
    std::vector<std::vector<float>> expected;
    for (const Recompute recompute : {Recompute::none, Recompute::attention, Recompute::block}) {
      const auto own = made(with_adapters(odd_qwen3(recompute)), recipe);
      gradients(*own);
      std::vector<std::vector<float>> found;
      for (const Parameters::Kept& each : own->parameters().trained()) {
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
    const auto own =
        made(with_adapters(find_qwen3("tiny")), fp8 ? fp8_on_hosts() : find_recipe("fp32"));
    for (const Parameters::Kept& each : own->parameters().trained()) {
      write_normal(each.tensors.parameters, each.parameter, 0.1f);
    }
    gradients(*own);
    for (const Parameters::Kept& each : own->parameters().trained()) {
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
    return message_of<UsageError>([&] { read_qwen3_configs("x.toml", text); });
  };
  EXPECT_NE(refusal("kv_heads = 2", "kv_heads = 3").find("a divisor of the 4 heads"),
            std::string::npos);
  EXPECT_NE(refusal("head_width = 8", "head_width = 7").find("an even number"), std::string::npos);
  EXPECT_THROW(find_qwen3("9b"), UsageError);
}

}  // namespace
}  // namespace duet
