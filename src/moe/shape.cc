#include "moe/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "training/operations/operation.h"

namespace duet {
namespace {

struct MoeModel {
  const char* name;
  std::int64_t hidden, width, experts, chosen;
  bool normalised;
};

// From the models' published configurations: hidden_size, moe_intermediate_size (Mixtral and
// GPT-OSS: intermediate_size), the number of experts, num_experts_per_tok, norm_topk_prob. What
// chooses experts differs (DeepSeek-V3: groups of experts, sigmoid and bias); its time is small.
constexpr MoeModel kModels[] = {
    {"deepseek-v3", 7168, 2048, 256, 8, true}, {"qwen3-30b", 2048, 768, 128, 8, true},
    {"qwen3-235b", 4096, 1536, 128, 8, true},  {"mixtral", 4096, 14336, 8, 2, true},
    {"gpt-oss", 2880, 2880, 128, 4, true},
};

}  // namespace

std::vector<std::string> moe_models() {
  std::vector<std::string> names;
  for (const MoeModel& each : kModels) names.emplace_back(each.name);
  return names;
}

MoeShape moe_shape_of(std::string_view model) {
  for (const MoeModel& each : kModels) {
    if (model != each.name) continue;
    return {each.name, each.hidden, each.width, each.experts, each.chosen, each.normalised};
  }
  throw UsageError(
      fmt::format("unknown model '{}': expected {}", model, fmt::join(moe_models(), ", ")));
}

void check(const MoeShape& shape, int ranks) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("moe {}: {}", shape.part, what));
  };
  if (shape.experts % ranks != 0)
    refuse(fmt::format("{} experts: expected a multiple of {} ranks", shape.experts, ranks));
  const std::int64_t most = std::min(shape.experts, kMostChosenExperts);
  if (shape.chosen < 1 || shape.chosen > most)
    refuse(fmt::format("{} experts of a token: expected 1 to {}", shape.chosen, most));
  const auto element = static_cast<std::int64_t>(size_of(shape.dtype));
  for (const std::int64_t columns : {shape.hidden, shape.width}) {
    if (columns % 8 == 0 && columns * element % 16 == 0) continue;
    refuse(fmt::format("rows of {} elements: expected a multiple of 8", columns));
  }
}

}  // namespace duet
