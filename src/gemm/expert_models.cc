#include "gemm/expert_models.h"

#include <algorithm>

#include "core/names.h"

namespace duet {

const std::vector<ExpertModel>& expert_models() {
  static const std::vector<ExpertModel> models{{"deepseek-v3", 7168, 2048, 256, 8},
                                               {"qwen3-30b", 2048, 768, 128, 8},
                                               {"qwen3-235b", 4096, 1536, 128, 8},
                                               {"mixtral", 4096, 14336, 8, 2},
                                               {"gpt-oss", 2880, 2880, 128, 4}};
  return models;
}

const ExpertModel& expert_model(std::string_view name) {
  const auto& all = expert_models();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ExpertModel& model) { return model.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string_view> known;
  for (const ExpertModel& model : all) known.push_back(model.name);
  throw_unknown_name("unknown model", name, known);
}

}  // namespace duet
