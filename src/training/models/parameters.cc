#include "training/models/parameters.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
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

// Whether it is updated together with others that decay, or with others that do not.
bool is_in_group(const ModelParameter& about, bool decays) {
  return !about.frozen && about.decays == decays;
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

// The elements of a whole parameter that it has values in: after them are zeros.
OptimizerTensors values_of(const TrainedParameter& parameter) {
  const auto own = [&](const Tensor& tensor) {
    return part(tensor, 0, parameter.about.rows, parameter.about.columns);
  };
  const OptimizerTensors& all = parameter.tensors;
  return {own(all.parameters),     own(all.gradients), own(all.first_moments),
          own(all.second_moments), own(all.master),    all.first};
}

// Some elements of a row-major matrix, as matrices of its rows: the rest of a row, whole rows, the
// beginning of one.
struct RowsPiece {
  std::int64_t row, column, rows, columns;
};
std::vector<RowsPiece> pieces_of(std::int64_t columns, std::int64_t first, std::int64_t last) {
  std::vector<RowsPiece> pieces;
  while (first < last) {
    const std::int64_t column = first % columns;
    const bool whole = column == 0 && last - first >= columns;
    const std::int64_t rows = whole ? (last - first) / columns : 1;
    const std::int64_t own = whole ? columns : std::min(columns - column, last - first);
    pieces.push_back({first / columns, column, rows, own});
    first += rows * own;
  }
  return pieces;
}

// Elements of a part of a tensor shard's parameter, from `first` on.
void begin_part(Stream& stream, Operations& operations, const ModelParameter& about,
                std::uint64_t seed, std::int64_t first, const Tensor& tensor) {
  const MatrixPart& place = about.part;
  std::int64_t before = 0, begun = 0;  // elements of the part; of the tensor
  for (const RowRange& range : place.ranges) {
    const std::int64_t end = before + range.count() * place.own_columns;
    const std::int64_t from = std::max(first, before);
    const std::int64_t to = std::min(first + tensor.count(), end);
    for (const RowsPiece& each : pieces_of(place.own_columns, from - before, to - before)) {
      const std::int64_t number =
          (range.first + each.row) * place.columns + place.first_column + each.column;
      operations.run(stream,
                     FillNormal{seed, number, about.deviation,
                                part(tensor, begun, each.rows, each.columns), place.columns});
      begun += each.rows * each.columns;
    }
    before = end;
  }
}

// `first`: the number within its parameter of the tensor's first element.
void begin_as(Stream& stream, Operations& operations, const ModelParameter& about,
              std::uint64_t seed, std::int64_t first, const Tensor& tensor) {
  if (tensor.count() == 0) return;
  if (!about.part.is_whole()) return begin_part(stream, operations, about, seed, first, tensor);
  if (about.deviation > 0) {
    return operations.run(stream, FillNormal{seed, first, about.deviation, tensor});
  }
  operations.run(stream, FillValue{about.value, tensor});
}

// Each parameter has a sequence of random numbers of its own.
std::uint64_t seed_of(std::size_t parameter, std::uint64_t seed) {
  return seed + 1 + static_cast<std::uint64_t>(parameter);
}

// The same part of all tensors.
OptimizerTensors part_of_all(const OptimizerTensors& flat, std::int64_t begin, std::int64_t end,
                             std::int64_t first) {
  const auto own = [&](const Tensor& tensor) { return part(tensor, begin, 1, end - begin); };
  return {own(flat.parameters),     own(flat.gradients), own(flat.first_moments),
          own(flat.second_moments), own(flat.master),    first};
}

// "block.3." of "block.3.qkv.weight"; "" of what is in no block.
std::string block_of(const std::string& name) {
  return name.rfind("block.", 0) == 0 ? name.substr(0, name.find('.', 6) + 1) : "";
}

}  // namespace

const char* name(OptimizerKind kind) { return name_of(kOptimizers, kind); }

OptimizerKind parse_optimizer(std::string_view text) {
  return parse_name(kOptimizers, "unknown optimizer", text);
}

std::int64_t count_of(const std::vector<ModelParameter>& all) {
  std::int64_t count = 0;
  for (const ModelParameter& each : all) count += each.count();
  return count;
}

ParametersDescription with_blocks(std::vector<ModelParameter> all) {
  ParametersDescription description{std::move(all)};
  std::string last;
  for (std::size_t i = 0; i < description.all.size(); ++i) {
    const std::string block = block_of(description.all[i].name);
    if (!block.empty() && block != last) description.blocks.push_back({i, i});
    if (!block.empty()) description.blocks.back().last = i + 1;
    last = block;
  }
  return description;
}

Parameters::Parameters(ParametersDescription description, Recipe recipe, const Optimizer& optimizer,
                       const ModelShard& shard)
    : blocks_(std::move(description.blocks)),
      recipe_(std::move(recipe)),
      optimizer_(optimizer),
      shard_(shard.share),
      tensor_shard_(shard.experts.ranks > 1 ? shard.experts : shard.tensor) {
  for (const ModelParameter& each : description.all) all_.push_back({each, {}});
  const auto frozen = [](const TrainedParameter& each) { return each.about.frozen; };
  if (!shard_) return;
  if (std::any_of(all_.begin(), all_.end(), frozen))
    throw BadArgument("shards of frozen parameters");
  units_ = make_units();
}

void Parameters::lay_out(MemoryPlan& plan) {
  if (shard_) return lay_out_units(plan);
  lay_out_frozen(plan);
  groups_.clear();
  lay_out_group(plan, true);
  lay_out_group(plan, false);
}

// Blocks, and what lies between them; of a model without blocks each parameter.
std::vector<Parameters::Unit> Parameters::make_units() const {
  std::vector<Unit> units;
  std::size_t next = 0;
  const auto add = [&](std::size_t last, std::optional<std::size_t> block) {
    if (last == next) return;
    units.emplace_back();
    units.back().range = {next, last};
    units.back().block = block;
    next = last;
  };
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    add(blocks_[block].first, {});
    add(blocks_[block].last, block);
  }
  for (std::size_t i = 0; blocks_.empty() && i < all_.size(); ++i) add(i + 1, {});
  add(all_.size(), {});
  return units;
}

std::size_t Parameters::block_buffers() const {
  return shard_->keeps_gathered ? blocks_.size() : std::min<std::size_t>(blocks_.size(), 2);
}

// Padded so that each rank's share is a multiple of kParameterElements.
std::int64_t Parameters::elements_of(const Unit& unit) const {
  std::int64_t count = 0;
  for (std::size_t i = unit.range.first; i < unit.range.last; ++i) count += space_of(all_[i].about);
  return rounded_up(count, shard_->ranks * kParameterElements);
}

void Parameters::lay_out_units(MemoryPlan& plan) {
  const auto add = [&](const std::string& name, std::int64_t count, DType dtype) {
    return plan.add(MemoryUse::gathered, name, 1, count, dtype);
  };
  std::int64_t largest = 0, numbers[2] = {0, 0};
  for (const Unit& each : units_) {
    if (each.block) largest = std::max(largest, elements_of(each));
  }
  std::vector<Tensor> blocks;
  for (std::size_t i = 0; i < block_buffers(); ++i) {
    blocks.push_back(add("block " + std::to_string(i), largest, recipe_.compute));
  }
  const Tensor block_gradients[] = {add("even block's gradients", largest, recipe_.gradients),
                                    add("odd block's gradients", largest, recipe_.gradients)};
  for (Unit& each : units_) {
    const std::int64_t count = elements_of(each);
    const Tensor full =
        each.block ? blocks[*each.block % blocks.size()] : add("unit", count, recipe_.compute);
    const Tensor gradients = each.block ? block_gradients[*each.block % 2]
                                        : add("unit's gradients", count, recipe_.gradients);
    each.full = part(full, 0, 1, count);
    each.full_gradients = part(gradients, 0, 1, count);
    lay_out_own(plan, each, count / shard_->ranks);
    lay_out_unit(each, numbers);
  }
}

void Parameters::lay_out_own(MemoryPlan& plan, Unit& unit, std::int64_t share) const {
  if (shard_->keeps_parts) {
    unit.gradient_parts = plan.add(MemoryUse::gradients, "gradients of all ranks", 1,
                                   shard_->ranks * share, recipe_.gradients);
  }
  unit.own = lay_out_flat(plan, share, part(unit.gradient_parts, shard_->rank * share, 1, share));
}

// `numbers`: of the next element that does not decay, and of the next that does, as they are
// without shards.
void Parameters::lay_out_unit(Unit& unit, std::int64_t numbers[2]) {
  std::int64_t at = 0;
  const auto place = [&](bool decays) {
    for (std::size_t i = unit.range.first; i < unit.range.last; ++i) {
      TrainedParameter& each = all_[i];
      if (each.about.decays != decays) continue;
      const auto own = [&](const Tensor& tensor) {
        return part(tensor, at, each.about.rows_in_memory, each.about.columns);
      };
      each.tensors = {own(unit.full), own(unit.full_gradients), {}, {}, {}, at};
      at += space_of(each.about);
    }
  };
  unit.own.first = numbers[1];
  unit.first_without_decay = numbers[0];
  place(true);
  unit.decay_end = at;
  numbers[1] += at;
  place(false);
  unit.end = at;
  numbers[0] += at - unit.decay_end;
}

// `gradients`: where they lie; empty: in memory of their own.
OptimizerTensors Parameters::lay_out_flat(MemoryPlan& plan, std::int64_t count,
                                          const Tensor& gradients) const {
  const auto add = [&](MemoryUse use, const char* name, DType dtype) {
    return plan.add(use, name, 1, count, dtype);
  };
  OptimizerTensors flat;
  flat.parameters = add(MemoryUse::parameters, "parameters", recipe_.compute);
  flat.gradients =
      gradients.count() > 0 ? gradients : add(MemoryUse::gradients, "gradients", recipe_.gradients);
  if (optimizer_.kind == OptimizerKind::adamw) {
    flat.first_moments = add(MemoryUse::optimizer_states, "first moments", recipe_.moments);
    flat.second_moments = add(MemoryUse::optimizer_states, "second moments", recipe_.moments);
  }
  if (recipe_.master) flat.master = add(MemoryUse::optimizer_states, "master", DType::fp32);
  return flat;
}

void Parameters::lay_out_frozen(MemoryPlan& plan) {
  for (TrainedParameter& each : all_) {
    if (!each.about.frozen) continue;
    each.tensors.parameters =
        plan.add(MemoryUse::parameters, each.about.name, each.about.rows_in_memory,
                 each.about.columns, recipe_.compute);
  }
}

void Parameters::lay_out_group(MemoryPlan& plan, bool decays) {
  std::int64_t count = 0;
  for (const TrainedParameter& each : all_) {
    if (is_in_group(each.about, decays)) count += space_of(each.about);
  }
  if (count == 0) return;
  const OptimizerTensors flat = lay_out_flat(plan, count);
  std::int64_t first = 0;
  for (TrainedParameter& each : all_) {
    if (!is_in_group(each.about, decays)) continue;
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
  for (const Unit& unit : units_) all.push_back(unit.own.gradients);
  return all;
}

std::vector<Tensor> Parameters::counted_gradients() const {
  if (tensor_shard_.rank == 0) return gradients();
  std::vector<Tensor> parts;
  for (const Kept& each : kept()) {
    if (!each.about->part.is_whole()) parts.push_back(each.tensors.gradients);
  }
  return parts;
}

std::vector<Parameters::Partial> Parameters::partial_gradients() const {
  std::vector<Partial> all;
  for (const Group& group : groups_) {
    if (!group.decays) all.push_back({group.tensors.gradients, 0});
  }
  for (const Unit& unit : units_) {
    const std::int64_t share = unit.own.gradients.count(), begin = shard_->rank * share;
    const std::int64_t first = std::max(begin, unit.decay_end);
    const std::int64_t last = std::min(begin + share, unit.end);
    if (first >= last) continue;
    all.push_back({part(unit.own.gradients, first - begin, 1, last - first),
                   unit.first_without_decay + first - unit.decay_end});
  }
  return all;
}

std::int64_t Parameters::partial_count() const {
  std::int64_t count = 0;
  for (const Group& group : groups_) count += group.decays ? 0 : group.tensors.gradients.count();
  for (const Unit& unit : units_) count += unit.end - unit.decay_end;
  return count;
}

bool Parameters::is_divided() const {
  const auto divided = [](const TrainedParameter& each) { return !each.about.part.is_whole(); };
  return shard_ || std::any_of(all_.begin(), all_.end(), divided);
}

std::vector<Tensor> Parameters::gradients(const ParameterRange& range) const {
  std::vector<Tensor> parts;
  for (const Group& group : groups_) parts.push_back(part_of(group, range).gradients);
  return parts;
}

OptimizerTensors Parameters::types() const {
  const auto one = [](DType dtype) { return Tensor{{}, 1, 1, dtype}; };
  OptimizerTensors types;
  types.parameters = one(recipe_.compute);
  types.gradients = one(recipe_.gradients);
  if (optimizer_.kind == OptimizerKind::adamw) {
    types.first_moments = types.second_moments = one(recipe_.moments);
  }
  if (recipe_.master) types.master = one(DType::fp32);
  return types;
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
  for (const Unit& unit : units_) {
    for (const Tensor& all : {unit.full, unit.full_gradients}) {
      stream.fill(all.span, {FillKind::constant, 0});  // between parameters, too
    }
    for (std::size_t i = unit.range.first; i < unit.range.last; ++i) {
      begin_as(stream, operations, all_[i].about, seed_of(i, seed), 0,
               values_of(all_[i]).parameters);
    }
  }
  for (const Kept& each : kept()) {
    const std::uint64_t own = seed_of(each.parameter, seed);
    begin_as(stream, operations, *each.about, own, each.first, each.tensors.parameters);
    begin_as(stream, operations, *each.about, own, each.first, each.tensors.master);
  }
}

std::vector<Parameters::Kept> Parameters::kept() const {
  std::vector<Kept> kept;
  if (!shard_) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      kept.push_back({i, &all_[i].about, 0, values_of(all_[i])});
    }
    return kept;
  }
  for (const Unit& unit : units_) {
    for (std::size_t i = unit.range.first; i < unit.range.last; ++i) keep(unit, i, kept);
  }
  return kept;
}

std::vector<Parameters::Kept> Parameters::trained() const {
  std::vector<Kept> all = kept();
  const auto frozen = [](const Kept& each) { return each.about->frozen; };
  all.erase(std::remove_if(all.begin(), all.end(), frozen), all.end());
  return all;
}

void Parameters::keep(const Unit& unit, std::size_t index, std::vector<Kept>& kept) const {
  const std::int64_t share = unit.own.parameters.count(), own_begin = shard_->rank * share;
  const std::int64_t at = all_[index].tensors.first, end = at + all_[index].about.count();
  const std::int64_t first = std::max(at, own_begin), last = std::min(end, own_begin + share);
  if (first >= last) return;
  kept.push_back({index, &all_[index].about, first - at,
                  part_of_all(unit.own, first - own_begin, last - own_begin, 0)});
}

// Without elements where the range has no parameter of the group.
OptimizerTensors Parameters::part_of(const Group& group, const ParameterRange& range) const {
  std::int64_t begin = -1, end = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const TrainedParameter& each = all_[i];
    if (!is_in_group(each.about, group.decays)) continue;
    if (begin < 0) begin = each.tensors.first;
    end = each.tensors.first + space_of(each.about);
  }
  if (begin < 0) return {};
  return part_of_all(group.tensors, begin, end, begin);
}

void Parameters::update(Stream& stream, Operations& operations, const Span& state,
                        const ParameterRange& range) const {
  for (const Group& group : groups_) {
    update(stream, operations, state, group.decays, part_of(group, range));
  }
  for (const Unit& unit : units_) {
    const bool whole = unit.range.first >= range.first && unit.range.last <= range.last;
    if (whole) update(stream, operations, state, unit);
  }
}

void Parameters::update(Stream& stream, Operations& operations, const Span& state, bool decays,
                        const OptimizerTensors& tensors) const {
  if (tensors.parameters.count() == 0) return;
  if (optimizer_.kind == OptimizerKind::sgd) return operations.run(stream, Sgd{state, tensors});
  AdamWOptions options = optimizer_.adamw;
  if (!decays) options.weight_decay = 0;
  operations.run(stream, AdamW{options, state, tensors});
}

// The rank's share of the elements that decay, and of the others.
void Parameters::update(Stream& stream, Operations& operations, const Span& state,
                        const Unit& unit) const {
  const std::int64_t share = unit.own.parameters.count(), begin = shard_->rank * share;
  const std::int64_t split = std::clamp<std::int64_t>(unit.decay_end - begin, 0, share);
  update(stream, operations, state, true, part_of_all(unit.own, 0, split, unit.own.first + begin));
  update(stream, operations, state, false,
         part_of_all(unit.own, split, share,
                     unit.first_without_decay + begin + split - unit.decay_end));
}

}  // namespace duet
