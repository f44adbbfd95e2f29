// A small model on one of several ranks, with its part of a batch that all ranks know, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/engine.h"
#include "core/random.h"
#include "device/machine.h"
#include "training/models/gpt.h"

namespace duet {

constexpr double kParallelDeadline = 60;
constexpr std::int64_t kRankBatch = 2;

// Layers, heads, width, FFN width, vocabulary, batch, sequence.
inline GptConfig several_blocks(std::int64_t batch) {
  return {"tiny", 5, 3, 24, 40, 37, batch, 11};
}

inline std::vector<float> values_on(Device& device, const Tensor& tensor) {
  std::vector<float> all(static_cast<std::size_t>(tensor.count()));
  device.read(tensor.span, all.data());
  return all;
}

// Has sequences [first, first + config.batch) of a list without end.
template <typename OwnModel, typename Config>
struct RankModelOf {
  RankModelOf(Device& device, const Config& config, std::int64_t first,
              const ModelShard& shard = {})
      : operations(make_operations(device)),
        model(config, find_recipe("fp32"), {}, device, *operations, shard),
        stream(device.make_stream()) {
    model.allocate();
    model.initialise(1);
    const auto words = [&](std::uint64_t seed) {
      std::vector<std::int32_t> tokens;
      for (std::int64_t i = 0; i < config.tokens(); ++i) {
        const auto at = static_cast<std::uint64_t>(first * config.sequence + i);
        tokens.push_back(static_cast<std::int32_t>(random_word(seed, at) % 37));
      }
      return tokens;
    };
    device.write(model.tokens().span, words(5).data());
    device.write(model.targets().span, words(6).data());
  }

  std::unique_ptr<Operations> operations;
  OwnModel model;
  std::unique_ptr<Stream> stream;
};
using RankModel = RankModelOf<Gpt, GptConfig>;

// On a machine of several ranks, by a collective engine. Skipped where there is no such machine.
class ParallelTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    try {
      machine_ = open_machine(std::get<0>(GetParam()));
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
    if (machine_->size() < 2) GTEST_SKIP() << machine_->name() << " has one device";
  }

  CollectiveEngine& engine() {
    return *engines_named(*machine_, {std::get<1>(GetParam())}).front();
  }

  std::unique_ptr<Machine> machine_;
};

inline auto parallel_machines() {
  return ::testing::Combine(::testing::Values("host:4", "host:3", "sim:h200:devices=2", "cuda"),
                            ::testing::Values("dma", "kernel"));
}

// "host_4_dma".
inline std::string parallel_label(
    const ::testing::TestParamInfo<std::tuple<const char*, const char*>>& one) {
  std::string text = std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text;
}

}  // namespace duet
