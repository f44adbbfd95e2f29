// In which element types a model is trained.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"

namespace duet {

struct Recipe {
  std::string name;
  DType compute = DType::fp32;    // of activations, and of the parameters that GEMMs take
  DType gradients = DType::fp32;  // of parameters
  DType moments = DType::fp32;    // of AdamW
  bool master = false;            // AdamW updates fp32 parameters, and rounds them to `compute`
  bool fp8 = false;  // the linears of a Qwen3's blocks multiply in fp8; other models have none
  DType fp8_gradients = DType::fp8_e4m3;  // or fp8_e5m2: what they take of gradients
};

// fp32  all in fp32
// amp   bf16 compute, residual stream and norms included; fp32 master parameters and moments
// bf16  all in bf16, parameters and moments with stochastic rounding
// fp8   as bf16, and the linears of blocks multiply in fp8 (training/operations/quantised.h)
const std::vector<Recipe>& recipes();
// Throws UsageError.
Recipe find_recipe(const std::string& name);

}  // namespace duet
