// The parameters of a model, and what an optimizer keeps of them, in memory of a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/memory_plan.h"
#include "training/operations.h"
#include "training/recipe.h"

namespace duet {

// One parameter of a model, a row-major matrix; a vector has one row.
struct ModelParameter {
  std::string name;  // "block.3.qkv.weight"
  std::int64_t rows = 0, columns = 0;
  std::int64_t rows_in_memory = 0;  // behind `rows` they are, and stay, zeros
  bool decays = false;              // AdamW applies weight decay to it: matrices yes, norms no
  // How it begins: normal of this deviation, or, if that is 0, `value` everywhere.
  double deviation = 0, value = 0;

  std::int64_t count() const { return rows * columns; }
};

inline std::int64_t rounded_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

enum class OptimizerKind { adamw, sgd };
const char* name(OptimizerKind kind);
OptimizerKind parse_optimizer(std::string_view text);  // throws UsageError

struct Optimizer {
  OptimizerKind kind = OptimizerKind::adamw;
  AdamWOptions adamw;
};

// A parameter, its gradient and the optimizer's states, of one shape.
struct TrainedParameter {
  ModelParameter about;
  OptimizerTensors tensors;
};

// Some of a model's parameters, by their indices: first <= index < last.
struct ParameterRange {
  std::size_t first = 0, last = 0;
};

// All parameters of a model. Those that decay lie together in their order, and so do those that do
// not: an optimizer updates what a range has of each group by one call.
class Parameters {
 public:
  Parameters(const std::vector<ModelParameter>& all, Recipe recipe, const Optimizer& optimizer);

  // Once before and once after MemoryPlan::allocate().
  void lay_out(MemoryPlan& plan);

  // Each enqueues and returns. Optimizer states and gradients begin as zeros.
  void initialise(Stream& stream, Operations& operations, const MemoryPlan& plan,
                  std::uint64_t seed) const;
  // Bits do not depend on the ranges by which all are updated.
  void update(Stream& stream, Operations& operations, const Span& state,
              const ParameterRange& range) const;

  const std::vector<TrainedParameter>& all() const { return all_; }
  std::vector<Tensor> gradients() const;  // of all, in few flat tensors; zeros between parameters
  // What a range has of each of these, in their order; without elements where it has none.
  std::vector<Tensor> gradients(const ParameterRange& range) const;
  std::size_t find(const std::string& name) const;  // of a parameter that is there
  const Tensor& weight(std::size_t index) const { return all_[index].tensors.parameters; }
  const Tensor& gradient(std::size_t index) const { return all_[index].tensors.gradients; }
  const Recipe& recipe() const { return recipe_; }

 private:
  struct Group {
    bool decays;
    OptimizerTensors tensors;  // flat
  };

  OptimizerTensors lay_out_flat(MemoryPlan& plan, std::int64_t count) const;
  OptimizerTensors part_of(const Group& group, const ParameterRange& range) const;
  void lay_out_group(MemoryPlan& plan, bool decays);

  std::vector<TrainedParameter> all_;
  Recipe recipe_;
  Optimizer optimizer_;
  std::vector<Group> groups_;
};

}  // namespace duet
