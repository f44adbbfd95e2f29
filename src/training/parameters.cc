#include "training/parameters.h"

#include <algorithm>

#include "core/names.h"

namespace duet {
namespace {

// Parameters begin at multiples: 256 bytes of bf16, for which tuned GEMM algorithms hold.
constexpr std::int64_t kParameterElements = 128;

constexpr NamedValue<OptimizerKind> kOptimizers[] = {{OptimizerKind::adamw, "adamw"},
                                                     {OptimizerKind::sgd, "sgd"}};

std::int64_t space_of(const ModelParameter& about) {
  return rounded_up(about.rows_in_memory * about.columns, kParameterElements);
}

// A matrix within a flat tensor; without memory while the flat one has none.
Tensor part(const Tensor& flat, std::int64_t first, std::int64_t rows, std::int64_t columns) {
  if (flat.count() == 0) return {};
  Tensor tensor{{}, rows, columns, flat.dtype};
  if (flat.span.bytes == 0) return tensor;
  const std::uint64_t offset = static_cast<std::uint64_t>(first) * size_of(flat.dtype);
  tensor.span = flat.span.slice(offset, tensor.bytes());
  return tensor;
}

void begin_as(Stream& stream, Operations& operations, const ModelParameter& about,
              std::uint64_t seed, const Tensor& tensor) {
  if (tensor.count() == 0) return;
  const Tensor own = part(tensor, 0, about.rows, about.columns);
  if (about.deviation > 0) return operations.fill_normal(stream, seed, about.deviation, own);
  operations.fill_value(stream, about.value, own);
}

}  // namespace

const char* name(OptimizerKind kind) { return name_of(kOptimizers, kind); }

OptimizerKind parse_optimizer(std::string_view text) {
  return parse_name(kOptimizers, "unknown optimizer", text);
}

Parameters::Parameters(const std::vector<ModelParameter>& all, Recipe recipe,
                       const Optimizer& optimizer)
    : recipe_(std::move(recipe)), optimizer_(optimizer) {
  for (const ModelParameter& each : all) all_.push_back({each, {}});
}

void Parameters::lay_out(MemoryPlan& plan) {
  groups_.clear();
  lay_out_group(plan, true);
  lay_out_group(plan, false);
}

OptimizerTensors Parameters::lay_out_flat(MemoryPlan& plan, std::int64_t count) const {
  const auto add = [&](MemoryUse use, const char* name, DType dtype) {
    return plan.add(use, name, 1, count, dtype);
  };
  OptimizerTensors flat;
  flat.parameters = add(MemoryUse::parameters, "parameters", recipe_.compute);
  flat.gradients = add(MemoryUse::gradients, "gradients", recipe_.gradients);
  if (optimizer_.kind == OptimizerKind::adamw) {
    flat.first_moments = add(MemoryUse::optimizer_states, "first moments", recipe_.moments);
    flat.second_moments = add(MemoryUse::optimizer_states, "second moments", recipe_.moments);
  }
  if (recipe_.master) flat.master = add(MemoryUse::optimizer_states, "master", DType::fp32);
  return flat;
}

void Parameters::lay_out_group(MemoryPlan& plan, bool decays) {
  std::int64_t count = 0;
  for (const TrainedParameter& each : all_) {
    if (each.about.decays == decays) count += space_of(each.about);
  }
  if (count == 0) return;
  const OptimizerTensors flat = lay_out_flat(plan, count);
  std::int64_t first = 0;
  for (TrainedParameter& each : all_) {
    if (each.about.decays != decays) continue;
    const auto own = [&](const Tensor& tensor) {
      return part(tensor, first, each.about.rows_in_memory, each.about.columns);
    };
    each.tensors = {own(flat.parameters),     own(flat.gradients), own(flat.first_moments),
                    own(flat.second_moments), own(flat.master),    first};
    first += space_of(each.about);
  }
  groups_.push_back({decays, flat});
}

std::vector<Tensor> Parameters::gradients() const {
  std::vector<Tensor> all;
  for (const Group& group : groups_) all.push_back(group.tensors.gradients);
  return all;
}

std::vector<Tensor> Parameters::gradients(const ParameterRange& range) const {
  std::vector<Tensor> parts;
  for (const Group& group : groups_) parts.push_back(part_of(group, range).gradients);
  return parts;
}

std::size_t Parameters::find(const std::string& name) const {
  const auto same = [&](const TrainedParameter& each) { return each.about.name == name; };
  return static_cast<std::size_t>(std::find_if(all_.begin(), all_.end(), same) - all_.begin());
}

void Parameters::initialise(Stream& stream, Operations& operations, const MemoryPlan& plan,
                            std::uint64_t seed) const {
  for (const MemoryUse use :
       {MemoryUse::parameters, MemoryUse::gradients, MemoryUse::optimizer_states}) {
    if (plan.bytes(use) > 0) stream.fill(plan.span(use), {FillKind::constant, 0});
  }
  for (const TrainedParameter& each : all_) {
    begin_as(stream, operations, each.about, ++seed, each.tensors.parameters);
    begin_as(stream, operations, each.about, seed, each.tensors.master);
  }
}

// Without elements where the range has no parameter of the group.
OptimizerTensors Parameters::part_of(const Group& group, const ParameterRange& range) const {
  std::int64_t begin = -1, end = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const TrainedParameter& each = all_[i];
    if (each.about.decays != group.decays) continue;
    if (begin < 0) begin = each.tensors.first;
    end = each.tensors.first + space_of(each.about);
  }
  if (begin < 0) return {};
  const OptimizerTensors& flat = group.tensors;
  const auto own = [&](const Tensor& tensor) { return part(tensor, begin, 1, end - begin); };
  return {own(flat.parameters),     own(flat.gradients), own(flat.first_moments),
          own(flat.second_moments), own(flat.master),    begin};
}

void Parameters::update(Stream& stream, Operations& operations, const Span& state,
                        const ParameterRange& range) const {
  for (const Group& group : groups_) {
    const OptimizerTensors tensors = part_of(group, range);
    if (tensors.parameters.count() == 0) continue;
    if (optimizer_.kind == OptimizerKind::sgd) {
      operations.sgd(stream, state, tensors);
      continue;
    }
    AdamWOptions options = optimizer_.adamw;
    if (!group.decays) options.weight_decay = 0;
    operations.adamw(stream, options, state, tensors);
  }
}

}  // namespace duet
