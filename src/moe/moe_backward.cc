// The backward pass of a layer: the gradient of a combine is a dispatch, that of a dispatch a
// combine.
#include "moe/moe_layer.h"

namespace duet {

void MoeLayer::plan_gradients(Rank& rank, const MoeWeights& weights, const Tuning& tuning) {
  const MoeTensors& t = tensors_;
  const std::vector<std::int64_t>& counts = rows().rows_of_expert[static_cast<std::size_t>(rank_)];
  dactivated_ =
      plan_product(rank, counts, t.dproducts, weights.down(), t.dactivated, Layout::nn, tuning);
  dexpanded_ =
      plan_product(rank, counts, t.dgate_up, weights.up(), t.dexpanded, Layout::nn, tuning);
  const auto add = [&](const std::vector<std::int64_t>& of, const Tensor& dy, const Tensor& x,
                       const Tensor& dw) {
    weight_gradients_.emplace_back(rank.device, of, dy, x, dw, tuning);
  };
  add(counts, t.dproducts, t.activated, t.ddown);
  add(counts, t.dgate_up, t.expanded, t.dup);
  if (shape().shared == 0) return;
  const std::vector<std::int64_t> tokens{shape().tokens};
  dshared_activated_ = plan_product(rank, tokens, t.dout, weights.shared_down(),
                                    t.dshared_activated, Layout::nn, tuning);
  dshared_x_ = plan_product(rank, tokens, t.dshared_gate_up, weights.shared_up(), t.dshared_x,
                            Layout::nn, tuning);
  add(tokens, t.dout, t.shared_activated, t.dshared_down);
  add(tokens, t.dshared_gate_up, t.x, t.dshared_up);
}

// Weight gradients need no exchange: they run beside that of the rows' gradients. So do those of
// shared experts.
void MoeLayer::add_backward(Rank& rank, CollectiveSession& session) {
  add_gradients_to_experts(rank, session);
  add_expert_gradients(stages_[3].compute);
  add_shared_gradients(stages_[2].beside, stages_[3].beside);
  add_weight_gradients(stages_[3].beside);
  add_gradients_to_tokens(rank, session);
}

// Where the token's rank weighs, it has the rows that came back, and so the gradients of weights.
void MoeLayer::add_gradients_to_experts(Rank& rank, CollectiveSession& session) {
  const MoeTensors& t = tensors_;
  std::vector<MoePhase>&compute = stages_[2].compute, &exchange = stages_[2].exchange;
  std::vector<MoePhase>& experts = stages_[3].compute;
  if (rows().kind == ExchangeKind::per_expert) {
    add(compute, "sum_backward",
        CombineRowsBackward{t.returned, t.sent_places, t.routing, t.dout, t.dsent, t.dweights});
    add(exchange, "combine_backward", plan_rows(rank, session, t.dsent, t.dreceived, false));
    return add(experts, "reduce_backward", GatherRows{t.dreceived, t.tokens, t.dproducts});
  }
  if (rows().kind == ExchangeKind::per_rank) {
    add(compute, "sum_backward", GatherRows{t.dout, t.sent_tokens, t.dsent});
    add(exchange, "combine_backward", plan_rows(rank, session, t.dsent, t.dreceived, false));
  } else {
    add(exchange, "combine_backward", plan_rows(rank, session, t.dout, t.dreceived, false));
  }
  add(experts, "reduce_backward",
      CombineRowsBackward{t.products, t.places, t.received_routing, t.dreceived, t.dproducts,
                          t.received_dweights});
}

void MoeLayer::add_expert_gradients(std::vector<MoePhase>& to) {
  const MoeTensors& t = tensors_;
  add(to, "experts_backward", dactivated_);
  add(to, "experts_backward", SwiGluBackward{t.gate_up, t.dactivated, t.dgate_up});
  add(to, "experts_backward", dexpanded_);
}

void MoeLayer::add_weight_gradients(std::vector<MoePhase>& to) {
  to.push_back({"weights", [this](Stream& stream) {
                  for (const WeightGradients& each : weight_gradients_) each.enqueue(stream);
                }});
}

void MoeLayer::add_shared_gradients(std::vector<MoePhase>& first, std::vector<MoePhase>& second) {
  if (shape().shared == 0) return;
  const MoeTensors& t = tensors_;
  add(first, "shared_backward", dshared_activated_);
  add(first, "shared_backward",
      SwiGluBackward{t.shared_gate_up, t.dshared_activated, t.dshared_gate_up});
  add(second, "shared_backward", dshared_x_);
}

void MoeLayer::add_gradients_to_tokens(Rank& rank, CollectiveSession& session) {
  const MoeTensors& t = tensors_;
  std::vector<MoePhase>& exchange = stages_[3].exchange;
  add(stages_[3].compute, "expand_backward", CombineRows{t.dexpanded, t.places, {}, t.dpartial});
  std::vector<MoePhase>& last = stages_[4].compute;
  if (rows().kind == ExchangeKind::all_gather) {
    add(exchange, "dispatch_backward", plan_rows(rank, session, t.dpartial, t.dx, true));
    add(exchange, "dispatch_backward",
        plan_rows(rank, session, t.received_dweights, t.dweights, true));
  } else {
    add(exchange, "dispatch_backward", plan_rows(rank, session, t.dpartial, t.dreturned, true));
    add(last, "pack_backward", CombineRows{t.dreturned, t.sent_places, {}, t.dx});
  }
  if (rows().kind == ExchangeKind::per_rank) {
    add(exchange, "dispatch_backward",
        plan_rows(rank, session, t.received_dweights, t.sent_dweights, true));
    add(last, "pack_backward", CombineRows{t.sent_dweights, t.sent_places, {}, t.dweights});
  }
  if (shape().shared > 0) add(last, "pack_backward", Add{t.dx, t.dshared_x, t.dx});
}

}  // namespace duet
