#include "moe/moe_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

constexpr std::size_t kOperationsOfCollective = 12;  // in a launch queue, of each peer

}  // namespace

MoeLayer::MoeLayer(Rank& rank, MoeCall call, CollectiveSession* session, const MoeWeights& weights,
                   const MoeMemory& memory, Operations& operations, const Tuning& tuning)
    : call_(std::move(call)),
      rank_(rank.index),
      memory_(memory),
      operations_(operations),
      tensors_(memory.tensors(sizes_of(*call_.rows, rank.index))) {
  plan_products(rank, weights, tuning);
  if (shape().trains) plan_gradients(rank, weights, tuning);
  if (session == nullptr) {
    stages_.resize(1);
    add_experts(stages_[0].compute);
    add_shared(stages_[0].compute, stages_[0].compute);
    if (!shape().trains) return;
    add_expert_gradients(stages_[0].compute);
    add_shared_gradients(stages_[0].compute, stages_[0].compute);
    add_weight_gradients(stages_[0].compute);
    return;
  }
  // A stage ends with an exchange: H hops to the experts and H back, and the same of gradients.
  const std::size_t last = 2 * hops();
  stages_.resize(shape().trains ? 2 * last + 1 : last + 1);
  plan_counts(rank, *session);
  add_routing(rank);
  for (std::size_t hop = 0; hop < hops(); ++hop) add_sending(rank, *session, hop);
  add_expanding();
  add_experts(stages_[hops()].compute);
  add_reducing();
  for (std::size_t hop = hops(); hop-- > 0;) add_returning(rank, *session, hop);
  add_shared(stages_[0].beside, stages_[last - 1].beside);
  const MoeTensors& t = tensors_;
  if (shape().shared > 0) add(stages_[last].compute, "sum", Add{t.out, t.shared_products, t.out});
  if (shape().trains) add_backward(rank, *session);
}

MoeLayer::Product MoeLayer::plan_product(Rank& rank, const std::vector<std::int64_t>& counts,
                                         const Tensor& a, const Tensor& b, const Tensor& c,
                                         Layout layout, const Tuning& tuning) const {
  const DType dtype = shape().dtype;
  Product made{{counts, c.columns, a.columns, dtype, default_output(dtype), layout},
               {a.span, b.span, c.span},
               nullptr};
  made.plan = plan_grouped_gemm(rank.device, made.problem, made.buffers, tuning);
  return made;
}

void MoeLayer::plan_products(Rank& rank, const MoeWeights& weights, const Tuning& tuning) {
  const MoeTensors& t = tensors_;
  const auto plan = [&](const std::vector<std::int64_t>& counts, const Tensor& a, const Tensor& b,
                        const Tensor& c) {
    return plan_product(rank, counts, a, b, c, Layout::nt, tuning);
  };
  const std::vector<std::int64_t>& counts = rows().rows_of_expert[static_cast<std::size_t>(rank_)];
  up_ = plan(counts, t.expanded, weights.up(), t.gate_up);
  down_ = plan(counts, t.activated, weights.down(), t.products);
  if (shape().shared == 0) return;
  shared_up_ = plan({shape().tokens}, t.x, weights.shared_up(), t.shared_gate_up);
  shared_down_ =
      plan({shape().tokens}, t.shared_activated, weights.shared_down(), t.shared_products);
}

void MoeLayer::add(std::vector<MoePhase>& to, const std::string& phase,
                   const AnyOperation& operation) {
  to.push_back({phase, [this, operation](Stream& stream) { operations_.run(stream, operation); }});
}

void MoeLayer::add(std::vector<MoePhase>& to, const std::string& phase,
                   std::unique_ptr<CollectivePlan> plan) {
  to.push_back({phase, [own = plan.get()](Stream& stream) { own->enqueue(stream); }});
  plans_.push_back(std::move(plan));
}

void MoeLayer::add(std::vector<MoePhase>& to, const std::string& phase, const Product& product) {
  to.push_back({phase, [own = product.plan.get()](Stream& stream) { own->enqueue(stream); }});
}

std::string phase_of_hop(const char* phase, std::size_t hop) {
  return hop == 0 ? phase : fmt::format("{}_in_node", phase);
}

std::string backward_phase_of_hop(const char* phase, std::size_t hop) {
  return phase_of_hop(phase, hop) + "_backward";
}

std::unique_ptr<CollectivePlan> MoeLayer::plan_rows(Rank& rank, CollectiveSession& session,
                                                    std::size_t hop, const Tensor& from,
                                                    const Tensor& to, bool returns) const {
  Collective c;
  c.dtype = from.dtype;
  const auto columns = static_cast<std::uint64_t>(from.columns);
  if (rows().kind == ExchangeKind::all_gather) {
    c.kind = returns ? CollectiveKind::reduce_scatter : CollectiveKind::all_gather;
    c.count = static_cast<std::uint64_t>(shape().tokens) * columns;
    return session.plan(rank, c, {from.span, to.span});
  }
  c.kind = CollectiveKind::all_to_all_v;
  const std::vector<std::uint64_t>& sent = rows().hops[hop].sent;
  for (int f = 0; f < rank.size; ++f) {
    for (int t = 0; t < rank.size; ++t)
      c.counts.push_back(
          columns *
          sent[static_cast<std::size_t>(returns ? t * rank.size + f : f * rank.size + t)]);
  }
  return session.plan(rank, c, {from.span, to.span});
}

void MoeLayer::add_routing(Rank& rank) {
  const MoeTensors& t = tensors_;
  logits_ = {{}, shape().tokens, shape().experts, DType::fp32};
  logits_memory_ = rank.device.allocate(logits_.bytes());
  logits_.span = logits_memory_.span();
  if (logits_.span.owner->has_contents(logits_.span))
    logits_.span.owner->write(logits_.span, call_.logits->data());
  std::vector<MoePhase>& compute = stages_[0].compute;
  add(compute, "route", ChooseExperts{logits_, shape().normalised, t.routing});
  if (shape().drops()) {
    add(compute, "route",
        GroupRows{t.routing,
                  shape().chosen,
                  0,
                  shape().experts,
                  1,
                  false,
                  t.choice_tokens,
                  {},
                  t.choice_places,
                  t.choice_offsets});
    add(compute, "route",
        LimitChoices{t.routing, t.choice_places, t.choice_offsets, shape().capacity()});
  }
  if (shape().fp8_rows) add(compute, "pack", QuantiseRows{t.x, t.travelling});
}

void MoeLayer::add_sending(Rank& rank, CollectiveSession& session, std::size_t hop) {
  const MoeHop& t = tensors_.hops[hop];
  const bool gathers = rows().kind == ExchangeKind::all_gather;
  if (!gathers) add_packing(hop);
  const Tensor &sent = gathers ? tensors_.travelling : t.sent,
               &sent_routing = gathers ? tensors_.routing : t.sent_routing;
  std::vector<MoePhase>& exchange = stages_[hop].exchange;
  const std::string dispatch = phase_of_hop("dispatch", hop);
  add(exchange, dispatch, plan_rows(rank, session, hop, sent, t.received, false));
  add(exchange, dispatch, plan_rows(rank, session, hop, sent_routing, t.received_routing, false));
}

void MoeLayer::add_packing(std::size_t hop) {
  const MoeHop& t = tensors_.hops[hop];
  const RowHop& moved = rows().hops[hop];
  const Tensor &from = before(hop, &MoeTensors::travelling, &MoeHop::received),
               &routing = before(hop, &MoeTensors::routing, &MoeHop::received_routing);
  std::vector<MoePhase>& compute = stages_[hop].compute;
  const std::string pack = phase_of_hop("pack", hop);
  const bool once = rows().kind != ExchangeKind::per_expert;
  Tensor sorted = t.sent_routing;  // of per_expert: the expert of each row
  std::swap(sorted.rows, sorted.columns);
  const CountsExchange* const counts = counts_.empty() ? nullptr : counts_[hop].get();
  const std::string exchanged = phase_of_hop("counts", hop);
  add(compute, pack,
      GroupRows{routing, shape().chosen, moved.first_expert[static_cast<std::size_t>(rank_)],
                moved.groups, moved.experts_of_group, once, t.sent_tokens, once ? Tensor() : sorted,
                t.sent_places, counts != nullptr ? counts->offsets() : Tensor()});
  if (counts != nullptr)
    compute.push_back({exchanged, [counts](Stream& stream) { counts->enqueue(stream); }});
  add(compute, pack, GatherRows{from, t.sent_tokens, t.sent});
  if (once) add(compute, pack, GatherRows{routing, t.sent_tokens, t.sent_routing});
  if (counts != nullptr) compute.push_back({exchanged, [counts](Stream&) { counts->wait(); }});
}

// Of all_gather nothing depends on counts.
void MoeLayer::plan_counts(Rank& rank, CollectiveSession& session) {
  if (!call_.host_counts || rows().kind == ExchangeKind::all_gather) return;
  for (const RowHop& hop : rows().hops) {
    counts_.push_back(std::make_unique<CountsExchange>(rank, session, hop, own_experts(),
                                                       operations_.computes(tensors_.x)));
  }
}

void MoeLayer::add_expanding() {
  const MoeTensors& t = tensors_;
  const MoeHop& last = t.hops.back();
  std::vector<MoePhase>& compute = stages_[hops()].compute;
  add(compute, "expand",
      GroupRows{last.received_routing,
                rows().kind == ExchangeKind::per_expert ? 1 : shape().chosen,
                rank_ * own_experts(),
                own_experts(),
                1,
                false,
                t.tokens,
                {},
                t.places});
  if (shape().fp8_rows)
    return add(compute, "expand", GatherFp8Rows{last.received, t.tokens, t.expanded});
  add(compute, "expand", GatherRows{last.received, t.tokens, t.expanded});
}

void MoeLayer::add_experts(std::vector<MoePhase>& to) {
  add(to, "experts", up_);
  add(to, "experts", SwiGlu{tensors_.gate_up, tensors_.activated});
  add(to, "experts", down_);
}

void MoeLayer::add_reducing() {
  const MoeTensors& t = tensors_;
  const MoeHop& last = t.hops.back();
  const bool weighs_here = rows().kind != ExchangeKind::per_expert;
  add(stages_[hops()].compute, "reduce",
      CombineRows{t.products, t.places, weighs_here ? last.received_routing : Tensor(),
                  last.partial});
}

void MoeLayer::add_returning(Rank& rank, CollectiveSession& session, std::size_t hop) {
  const MoeTensors& t = tensors_;
  const MoeHop& own = t.hops[hop];
  const std::size_t stage = 2 * hops() - 1 - hop;
  std::vector<MoePhase>& exchange = stages_[stage].exchange;
  const std::string combine = phase_of_hop("combine", hop);
  if (rows().kind == ExchangeKind::all_gather)
    return add(exchange, combine, plan_rows(rank, session, hop, own.partial, t.out, true));
  add(exchange, combine, plan_rows(rank, session, hop, own.partial, own.returned, true));
  const bool weighs = rows().kind == ExchangeKind::per_expert;
  add(stages_[stage + 1].compute, phase_of_hop("sum", hop),
      CombineRows{own.returned, own.sent_places, weighs ? t.routing : Tensor(),
                  before(hop, &MoeTensors::out, &MoeHop::partial)});
}

// As Megatron-LM cuts them: up beside dispatch, down beside combine.
void MoeLayer::add_shared(std::vector<MoePhase>& first, std::vector<MoePhase>& second) {
  if (shape().shared == 0) return;
  add(first, "shared", shared_up_);
  add(first, "shared", SwiGlu{tensors_.shared_gate_up, tensors_.shared_activated});
  add(second, "shared", shared_down_);
}

std::size_t MoeLayer::operations_queued() const {
  std::size_t sum =
      plans_.size() * static_cast<std::size_t>(rows().ranks) * kOperationsOfCollective;
  for (const Product* each : products()) sum += each->plan->operations();
  for (const WeightGradients& each : weight_gradients_) sum += each.operations();
  sum += counts_.size() * static_cast<std::size_t>(rows().ranks) * kOperationsOfCollective;
  for (const MoeStage& stage : stages_)
    sum += kOperationsOfStage + stage.compute.size() + stage.beside.size();
  return sum;
}

std::vector<const MoeLayer::Product*> MoeLayer::products() const {
  std::vector<const Product*> all{&up_, &down_};
  if (shape().shared > 0) all.insert(all.end(), {&shared_up_, &shared_down_});
  if (shape().trains) all.insert(all.end(), {&dactivated_, &dexpanded_});
  if (shape().trains && shape().shared > 0)
    all.insert(all.end(), {&dshared_activated_, &dshared_x_});
  return all;
}

double MoeLayer::wire_bytes() const {
  return std::accumulate(plans_.begin(), plans_.end(), 0.0,
                         [](double sum, const auto& plan) { return sum + plan->wire_bytes(); });
}

bool MoeLayer::host_driven() const {
  const std::vector<const Product*> all = products();
  if (!counts_.empty()) return true;
  return std::any_of(all.begin(), all.end(),
                     [](const Product* each) { return each->plan->blocks(); }) ||
         std::any_of(plans_.begin(), plans_.end(),
                     [](const auto& plan) { return plan->host_driven(); });
}

void MoeLayer::poison_staging() const {
  for (const auto& plan : plans_) plan->poison_staging();
}

std::string MoeLayer::algorithm() const {
  if (plans_.empty()) return "";
  std::string text = plans_.front()->algorithm();
  if (hops() > 1) text += "; in the node " + plans_[2]->algorithm();
  return text;
}

std::vector<Tensor> MoeLayer::results() const {
  if (!shape().trains) return {tensors_.out};
  return {tensors_.out, tensors_.dx, tensors_.dweights};
}

std::string MoeLayer::gemm_algorithm() const { return up_.plan->algorithm(); }

}  // namespace duet
