// Mixture-of-experts models, as far as the GEMMs of their experts go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duet {

struct ExpertModel {
  std::string name;
  int hidden = 0;   // width of the model
  int width = 0;    // of an expert
  int experts = 0;  // of a layer, without shared ones
  int top_k = 0;    // experts of a token
};

// As the models' published configurations have them.
const std::vector<ExpertModel>& expert_models();
const ExpertModel& expert_model(std::string_view name);  // throws UsageError

}  // namespace duet
