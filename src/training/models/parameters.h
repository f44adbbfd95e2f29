// The parameters of a model, their gradients and the optimizer's states, in device memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training/models/memory_plan.h"
#include "training/models/recipe.h"
#include "training/operations/operations.h"

namespace duet {

// One parameter of a model, a row-major matrix; a vector has one row.
struct ModelParameter {
  std::string name;  // "block.3.qkv.weight"
  std::int64_t rows = 0, columns = 0;
  std::int64_t rows_in_memory = 0;  // rows from `rows` on are, and stay, zeros
  bool decays = false;              // AdamW applies weight decay to it: matrices yes, norms no
  // Initial values: normal with this deviation, or, if that is 0, `value` everywhere.
  double deviation = 0, value = 0;
  bool sparse = false;         // only rows of tokens that occur have a gradient
  bool frozen = false;         // has no gradient, and no update
  std::int64_t first_row = 0;  // rows before it are and stay zeros, and have no gradient
  MatrixPart part = {};        // of a tensor shard: what the rank has of the whole parameter

  std::int64_t count() const { return rows * columns; }
};

std::int64_t count_of(const std::vector<ModelParameter>& all);  // elements

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

// The share of one rank, if ranks divide a model's parameters, gradients and optimizer states (ZeRO
// stage 3, as DeepSpeed calls it; PyTorch's FSDP).
struct Shard {
  int rank = 0, ranks = 1;
  bool keeps_gathered = false;  // each block has its own memory for gathered parameters
  bool keeps_parts = false;     // gradients of its share are kept as they come from each rank
};

// The share of one rank, if ranks divide the weights of linears, and so each product (tensor
// parallelism). One rank divides nothing.
struct TensorShard {
  int rank = 0, ranks = 1;
};

// What a rank has of a model: all of it; a share of either kind; or, of what one tensor shard has,
// the share that is one of several ranks'.
struct ModelShard {
  ModelShard() = default;
  ModelShard(const Shard& own) : share(own) {}
  ModelShard(const TensorShard& own) : tensor(own) {}
  ModelShard(const Shard& own, const TensorShard& of) : share(own), tensor(of) {}

  std::optional<Shard> share;
  TensorShard tensor;
  TensorShard experts;  // ranks divide experts alone, and each has a batch of its own
};

struct ParametersDescription {
  std::vector<ModelParameter> all;
  // The ranges of the blocks, in order; blocks have equal shapes, and a pass uses one after the
  // other.
  std::vector<ParameterRange> blocks = {};
};

// The description with its blocks: parameters whose names begin with "block.N.", in the order of N.
ParametersDescription with_blocks(std::vector<ModelParameter> all);

// All parameters of a model, or a rank's shard of them (then none may be frozen), or, where the
// description is of a tensor shard, the rank's parts of some and all of others. Parameters with
// weight decay are contiguous, in their order, and so are those without: an optimizer needs one
// call for each of the two groups.
class Parameters {
 public:
  // Only with a shard: parameters that are gathered by one call, and whose gradients are reduced by
  // one call. Gradients of blocks use two buffers alternately, and so do their parameters, unless
  // the shard keeps what is gathered; other units have buffers of their own.
  struct Unit {
    ParameterRange range;
    std::optional<std::size_t> block;  // its number
    Tensor full, full_gradients;       // flat, padded to a multiple of the ranks
    // If the shard keeps parts: all ranks' gradients of this rank's share, one after the other. Its
    // own gradients are the part that is its own.
    Tensor gradient_parts;
    // The rank's equal share of the flat tensors, and its states. Of its elements, those before
    // `decay_end` decay; `first` and `first_without_decay` are the numbers of the first of each.
    OptimizerTensors own;
    std::int64_t decay_end = 0, first_without_decay = 0;
    std::int64_t end = 0;  // what is behind it is padding
  };
  // Gradients of which every rank of a tensor shard has an addend.
  struct Partial {
    Tensor gradients;        // one row, of this rank's share
    std::int64_t first = 0;  // its number among those of all shares
  };
  // The part of one parameter that this rank keeps: all rows that have values or, with a shard, one
  // row with the elements from `first` on. Of a tensor shard, the parameter is the rank's part.
  struct Kept {
    std::size_t parameter;  // its index
    const ModelParameter* about;
    std::int64_t first;
    OptimizerTensors tensors;
  };

  Parameters(ParametersDescription description, Recipe recipe, const Optimizer& optimizer,
             const ModelShard& shard = {});

  // Once before and once after MemoryPlan::allocate().
  void lay_out(MemoryPlan& plan);

  // Each enqueues and returns. Optimizer states and gradients begin as zeros. Buffers of gathered
  // parameters begin as the last blocks that use them, so that a step which gathers nothing
  // computes with numbers like those of a step that does: a GPU's power depends on them.
  void initialise(Stream& stream, Operations& operations, const MemoryPlan& plan,
                  std::uint64_t seed) const;
  // The result does not depend, to the bit, on how the parameters are divided into ranges. With a
  // shard, ranges must be whole units.
  void update(Stream& stream, Operations& operations, const Span& state,
              const ParameterRange& range) const;

  // With a shard, tensors have the whole parameter and its gradient while its unit is used, and no
  // states.
  const std::vector<TrainedParameter>& all() const { return all_; }
  const std::vector<Unit>& units() const { return units_; }  // empty: this is no shard
  // Of a shard: block N's gathered parameters lie in buffer N modulo this.
  std::size_t block_buffers() const;
  std::vector<Kept> kept() const;
  std::vector<Kept> trained() const;  // those of kept() that are updated
  // All gradients, with a shard those that this rank keeps, in few flat tensors; zeros between
  // parameters.
  std::vector<Tensor> gradients() const;
  // The part of each of these tensors that belongs to a range, in the same order; empty tensors if
  // there is none. Not with a shard.
  std::vector<Tensor> gradients(const ParameterRange& range) const;
  // Of a tensor shard or of one of experts: gradients() without those that lower ranks have as
  // well, so that all ranks' together are those of the whole model; else gradients().
  std::vector<Tensor> counted_gradients() const;
  // Those of norms; and how many elements all shares have together.
  std::vector<Partial> partial_gradients() const;
  std::int64_t partial_count() const;
  // Whether other ranks have other parts.
  bool is_divided() const;
  std::size_t find(const std::string& name) const;  // the parameter must exist
  const Tensor& weight(std::size_t index) const { return all_[index].tensors.parameters; }
  const Tensor& gradient(std::size_t index) const { return all_[index].tensors.gradients; }
  const Recipe& recipe() const { return recipe_; }
  // Tensors without memory that tell which tensors each trained parameter has, and their types;
  // those that it does not have are empty.
  OptimizerTensors types() const;

 private:
  struct Group {
    bool decays;
    OptimizerTensors tensors;  // flat
  };

  OptimizerTensors lay_out_flat(MemoryPlan& plan, std::int64_t count,
                                const Tensor& gradients = {}) const;
  void lay_out_own(MemoryPlan& plan, Unit& unit, std::int64_t share) const;
  OptimizerTensors part_of(const Group& group, const ParameterRange& range) const;
  void lay_out_frozen(MemoryPlan& plan);
  void lay_out_group(MemoryPlan& plan, bool decays);
  std::vector<Unit> make_units() const;
  std::int64_t elements_of(const Unit& unit) const;
  void lay_out_units(MemoryPlan& plan);
  void lay_out_unit(Unit& unit, std::int64_t numbers[2]);
  void keep(const Unit& unit, std::size_t index, std::vector<Kept>& kept) const;
  void update(Stream& stream, Operations& operations, const Span& state, bool decays,
              const OptimizerTensors& tensors) const;
  void update(Stream& stream, Operations& operations, const Span& state, const Unit& unit) const;

  std::vector<TrainedParameter> all_;
  std::vector<ParameterRange> blocks_;
  Recipe recipe_;
  Optimizer optimizer_;
  std::optional<Shard> shard_;
  TensorShard tensor_shard_;
  std::vector<Group> groups_;  // empty with a shard
  std::vector<Unit> units_;
};

}  // namespace duet
