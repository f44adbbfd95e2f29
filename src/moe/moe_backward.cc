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

// Weight gradients need no exchange: they run beside the longest of the rows' gradients, that over
// all ranks. So do those of shared experts.
void MoeLayer::add_backward(Rank& rank, CollectiveSession& session) {
  const std::size_t first = 2 * hops(), experts = first + hops(), last = experts + hops();
  for (std::size_t hop = 0; hop < hops(); ++hop) add_gradients_to_experts(rank, session, hop);
  add_reducing_gradients();
  add_expert_gradients(stages_[experts].compute);
  add_shared_gradients(stages_[first].beside, stages_[last - 1].beside);
  add_weight_gradients(stages_[last - 1].beside);
  const MoeTensors& t = tensors_;
  add(stages_[experts].compute, "expand_backward",
      CombineRows{t.dexpanded, t.places, {}, t.hops.back().dpartial});
  for (std::size_t hop = hops(); hop-- > 0;) add_gradients_to_tokens(rank, session, hop);
  if (shape().shared > 0) add(stages_[last].compute, "pack_backward", Add{t.dx, t.dshared_x, t.dx});
}

// Where the token's rank weighs, it has the rows that came back, and so the gradients of weights.
void MoeLayer::add_gradients_to_experts(Rank& rank, CollectiveSession& session, std::size_t hop) {
  const MoeTensors& t = tensors_;
  const MoeHop& own = t.hops[hop];
  MoeStage& stage = stages_[2 * hops() + hop];
  const std::string sum = backward_phase_of_hop("sum", hop),
                    combine = backward_phase_of_hop("combine", hop);
  const Tensor& from = before(hop, &MoeTensors::dout, &MoeHop::dreceived);
  if (rows().kind == ExchangeKind::all_gather)
    return add(stage.exchange, combine, plan_rows(rank, session, hop, from, own.dreceived, false));
  if (rows().kind == ExchangeKind::per_expert) {
    add(stage.compute, sum,
        CombineRowsBackward{own.returned, own.sent_places, t.routing, from, own.dsent, t.dweights});
  } else {
    add(stage.compute, sum, GatherRows{from, own.sent_tokens, own.dsent});
  }
  add(stage.exchange, combine, plan_rows(rank, session, hop, own.dsent, own.dreceived, false));
}

void MoeLayer::add_reducing_gradients() {
  const MoeTensors& t = tensors_;
  const MoeHop& last = t.hops.back();
  std::vector<MoePhase>& compute = stages_[3 * hops()].compute;
  if (rows().kind == ExchangeKind::per_expert)
    return add(compute, "reduce_backward", GatherRows{last.dreceived, t.tokens, t.dproducts});
  add(compute, "reduce_backward",
      CombineRowsBackward{t.products, t.places, last.received_routing, last.dreceived, t.dproducts,
                          last.received_dweights});
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

void MoeLayer::add_gradients_to_tokens(Rank& rank, CollectiveSession& session, std::size_t hop) {
  const MoeTensors& t = tensors_;
  const MoeHop& own = t.hops[hop];
  const std::size_t stage = 4 * hops() - 1 - hop;
  std::vector<MoePhase>&exchange = stages_[stage].exchange, &compute = stages_[stage + 1].compute;
  const std::string dispatch = backward_phase_of_hop("dispatch", hop),
                    pack = backward_phase_of_hop("pack", hop);
  const bool gathers = rows().kind == ExchangeKind::all_gather;
  const auto plan = [&](const Tensor& from, const Tensor& to) {
    add(exchange, dispatch, plan_rows(rank, session, hop, from, to, true));
  };
  plan(own.dpartial, gathers ? t.dx : own.dreturned);
  if (rows().kind != ExchangeKind::per_expert)
    plan(own.received_dweights, gathers ? t.dweights : own.sent_dweights);
  if (gathers) return;
  add(compute, pack,
      CombineRows{
          own.dreturned, own.sent_places, {}, before(hop, &MoeTensors::dx, &MoeHop::dpartial)});
  if (rows().kind == ExchangeKind::per_expert) return;
  add(compute, pack,
      CombineRows{own.sent_dweights,
                  own.sent_places,
                  {},
                  before(hop, &MoeTensors::dweights, &MoeHop::received_dweights)});
}

}  // namespace duet
