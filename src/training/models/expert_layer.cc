#include "training/models/expert_layer.h"

#include <algorithm>

namespace duet {

std::int64_t most_expert_rows(const DecoderShape& shape) {
  const std::int64_t own = shape.experts / shape.expert_shard.ranks;
  return shape.expert_shard.ranks * shape.tokens() * std::min(shape.chosen, own);
}

ExpertWorkspace lay_out_expert_workspace(MemoryPlan& memory, const DecoderShape& shape,
                                         DType compute) {
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t columns, DType dtype) {
    return memory.add(MemoryUse::workspace, name, rows, columns, dtype);
  };
  const std::int64_t own = shape.tokens(), all = shape.expert_shard.ranks * own;
  const std::int64_t most = most_expert_rows(shape);
  ExpertWorkspace made;
  made.logits = add("logits of experts", own, shape.experts, compute);
  made.routing = add("routing", own, 2 * shape.chosen, DType::int32);
  made.dweights = add("gradients of experts' weights", own, shape.chosen, DType::fp32);
  made.summed = add("sums over experts", own, shape.width, compute);
  made.index = add("tokens of rows", 1, most, DType::int32);
  made.drows = add("gradients of rows", most, shape.width, compute);
  made.dactivated = add("gradients of activated rows", most, shape.ffn_width, compute);
  if (all == own) return made;
  made.gathered = add("tokens of all ranks", all, shape.width, compute);
  made.sums = add("sums over own experts", all, shape.width, compute);
  made.all_dweights = add("gradients of all weights", all, shape.chosen, DType::fp32);
  return made;
}

ExpertActivations lay_out_expert_activations(MemoryPlan& memory, const DecoderShape& shape,
                                             const std::string& name, DType compute) {
  const auto add = [&](const char* what, std::int64_t rows, std::int64_t columns, DType dtype) {
    return memory.add(MemoryUse::activations, name + what, rows, columns, dtype);
  };
  const std::int64_t all = shape.expert_shard.ranks * shape.tokens();
  const std::int64_t own = shape.experts / shape.expert_shard.ranks;
  const std::int64_t most = most_expert_rows(shape);
  return {add("routing", all, 2 * shape.chosen, DType::int32),
          add("places", all, shape.chosen, DType::int32),
          add("offsets", 1, own + 1, DType::int32),
          add("rows", most, shape.width, compute),
          add("gate_up", most, 2 * shape.ffn_width, compute),
          add("activated", most, shape.ffn_width, compute),
          add("results", most, shape.width, compute)};
}

RowRange ExpertLayer::own_rows() const {
  const std::int64_t first = shape_.expert_shard.rank * shape_.tokens();
  return {first, first + shape_.tokens()};
}

// Where tokens choose all experts equally often.
GroupedRows ExpertLayer::groups() const { return {kept_.offsets, shape_.tokens() * shape_.chosen}; }

const Tensor& ExpertLayer::gather(Stream& stream, const Tensor& own, const Tensor& all) const {
  if (!is_split()) return own;
  exchange_->gather(stream, own, all, {});
  return all;
}

void ExpertLayer::sum(Stream& stream, const Tensor& partial, const Tensor& own,
                      const std::function<void(const Tensor&)>& add) const {
  if (!is_split()) return add(own);
  add(partial);
  exchange_->scatter(stream, partial, own, {});
}

void ExpertLayer::route(Operations& operations, Stream& stream, const Tensor& x) const {
  const Tensor& own = is_split() ? workspace_.routing : kept_.routing;
  operations.run(stream, LinearForward{x, weights_.router, workspace_.logits});
  operations.run(stream, ChooseExperts{workspace_.logits, true, own});
  gather(stream, own, kept_.routing);
  const std::int64_t experts = groups().groups();
  operations.run(stream, GroupRows{kept_.routing,
                                   shape_.chosen,
                                   shape_.expert_shard.rank * experts,
                                   experts,
                                   1,
                                   false,
                                   workspace_.index,
                                   {},
                                   kept_.places,
                                   kept_.offsets});
}

void ExpertLayer::multiply(Operations& operations, Stream& stream, const Tensor& x) const {
  const GroupedRows rows = groups();
  Tensor count{{}, 1, 1, DType::int32};
  const std::uint64_t before = rows.offsets.bytes() - count.bytes();
  count.span = rows.offsets.span.slice(before, count.bytes());
  const Tensor& all = gather(stream, x, workspace_.gathered);
  operations.run(stream, GatherRows{all, workspace_.index, kept_.rows, count, rows.expected_rows});
  operations.run(stream, GroupedLinear{rows, kept_.rows, weights_.in, kept_.hidden});
  operations.run(stream, SwiGlu{kept_.hidden, kept_.activated, rows});
  operations.run(stream, GroupedLinear{rows, kept_.activated, weights_.out, kept_.results});
}

void ExpertLayer::recompute(Operations& operations, Stream& stream, const Tensor& x) const {
  route(operations, stream, x);
  multiply(operations, stream, x);
}

void ExpertLayer::forward(Operations& operations, Stream& stream, const Tensor& x,
                          const Tensor& residual, const Tensor& y) const {
  recompute(operations, stream, x);
  sum(stream, workspace_.sums, workspace_.summed, [&](const Tensor& sums) {
    operations.run(stream, CombineRows{kept_.results, kept_.places, kept_.routing, sums});
  });
  operations.run(stream, Add{residual, workspace_.summed, y});
}

// From the gradients of results to those of the rows, in their place.
void ExpertLayer::backward_experts(Operations& operations, Stream& stream,
                                   Accumulate gradients) const {
  const GroupedRows rows = groups();
  const Tensor &drows = workspace_.drows, &dactivated = workspace_.dactivated;
  operations.run(
      stream, GroupedLinearBackwardWeight{rows, drows, kept_.activated, gradients_.out, gradients});
  operations.run(stream, GroupedLinearBackwardInput{rows, drows, weights_.out, dactivated});
  operations.run(stream, SwiGluBackward{kept_.hidden, dactivated, kept_.hidden, rows});
  operations.run(stream, GroupedLinearBackwardWeight{rows, kept_.hidden, kept_.rows, gradients_.in,
                                                     gradients});
  operations.run(stream, GroupedLinearBackwardInput{rows, kept_.hidden, weights_.in, drows});
}

void ExpertLayer::backward(Operations& operations, Stream& stream, const Tensor& dy,
                           const Tensor& x, const Tensor& dx, Accumulate gradients) const {
  const Tensor& all_dy = gather(stream, dy, workspace_.gathered);
  sum(stream, workspace_.all_dweights, workspace_.dweights, [&](const Tensor& dweights) {
    operations.run(stream, CombineRowsBackward{kept_.results, kept_.places, kept_.routing, all_dy,
                                               workspace_.drows, dweights, groups().expected_rows});
  });
  backward_experts(operations, stream, gradients);
  sum(stream, workspace_.sums, dx, [&](const Tensor& sums) {
    operations.run(stream, CombineRows{workspace_.drows, kept_.places, {}, sums});
  });
  const Tensor& dlogits = workspace_.logits;
  operations.run(stream, ChooseExpertsBackward{rows_of(kept_.routing, own_rows()),
                                               workspace_.dweights, dlogits});
  operations.run(stream, LinearBackwardWeight{dlogits, x, gradients_.router, gradients});
  operations.run(stream, LinearBackwardInput{dlogits, weights_.router, dx, Accumulate::yes});
}

void ExpertLayer::begin(Operations& operations, Stream& stream) const {
  if (!is_split()) return;
  operations.run(stream, FillNormal{0, 0, 1, workspace_.gathered});
  operations.run(stream, FillNormal{1, 0, 1, workspace_.summed});
  for (std::int64_t rank = 0; rank < shape_.expert_shard.ranks; ++rank) {
    const RowRange rows{rank * shape_.tokens(), (rank + 1) * shape_.tokens()};
    operations.run(stream,
                   FillNormal{static_cast<std::uint64_t>(2 + rank), 0, 1, workspace_.logits});
    operations.run(stream, ChooseExperts{workspace_.logits, true, rows_of(kept_.routing, rows)});
  }
}

}  // namespace duet
