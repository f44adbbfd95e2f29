#include "moe/moe_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

constexpr std::size_t kOperationsOfCollective = 12;  // in a launch queue, of each peer

GroupedGemmProblem problem_of(const std::vector<std::int64_t>& rows, std::int64_t n, std::int64_t k,
                              DType dtype) {
  return {rows, n, k, dtype, default_output(dtype), Layout::nt};
}

}  // namespace

MoeLayer::MoeLayer(Rank& rank, MoeCall call, CollectiveSession* session, const MoeMemory& memory,
                   Operations& operations, const Tuning& tuning)
    : call_(std::move(call)),
      rank_(rank.index),
      memory_(memory),
      operations_(operations),
      tensors_(memory.tensors(sizes_of(*call_.rows, rank.index))) {
  plan_experts(rank, tuning);
  if (session != nullptr) add_sending(rank, *session);
  add_expert_phases(session != nullptr);
  if (session != nullptr) add_returning(rank, *session);
}

void MoeLayer::plan_experts(Rank& rank, const Tuning& tuning) {
  const MoeTensors& t = tensors_;
  const std::vector<std::int64_t>& counts = rows().rows_of_expert[static_cast<std::size_t>(rank_)];
  up_problem_ = problem_of(counts, 2 * shape().width, shape().hidden, shape().dtype);
  down_problem_ = problem_of(counts, shape().hidden, shape().width, shape().dtype);
  up_ = plan_grouped_gemm(rank.device, up_problem_,
                          {t.expanded.span, t.up_weights.span, t.gate_up.span}, tuning);
  down_ = plan_grouped_gemm(rank.device, down_problem_,
                            {t.activated.span, t.down_weights.span, t.products.span}, tuning);
}

void MoeLayer::add(const char* phase, const AnyOperation& operation) {
  phases_.push_back(
      {phase, [this, operation](Stream& stream) { operations_.run(stream, operation); }});
}

void MoeLayer::add(const char* phase, std::unique_ptr<CollectivePlan> plan) {
  phases_.push_back({phase, [own = plan.get()](Stream& stream) { own->enqueue(stream); }});
  plans_.push_back(std::move(plan));
}

std::unique_ptr<CollectivePlan> MoeLayer::plan_rows(Rank& rank, CollectiveSession& session,
                                                    const Tensor& from, const Tensor& to,
                                                    bool returns) const {
  Collective c;
  c.dtype = from.dtype;
  const auto columns = static_cast<std::uint64_t>(from.columns);
  if (rows().kind == ExchangeKind::all_gather) {
    c.kind = returns ? CollectiveKind::reduce_scatter : CollectiveKind::all_gather;
    c.count = static_cast<std::uint64_t>(shape().tokens) * columns;
    return session.plan(rank, c, {from.span, to.span});
  }
  c.kind = CollectiveKind::all_to_all_v;
  for (int f = 0; f < rank.size; ++f) {
    for (int t = 0; t < rank.size; ++t)
      c.counts.push_back(
          columns *
          rows().sent[static_cast<std::size_t>(returns ? t * rank.size + f : f * rank.size + t)]);
  }
  return session.plan(rank, c, {from.span, to.span});
}

void MoeLayer::add_sending(Rank& rank, CollectiveSession& session) {
  const MoeTensors& t = tensors_;
  logits_ = {{}, shape().tokens, shape().experts, DType::fp32};
  logits_memory_ = rank.device.allocate(logits_.bytes());
  logits_.span = logits_memory_.span();
  if (rank.device.has_contents(logits_.span)) rank.device.write(logits_.span, call_.logits->data());
  add("route", ChooseExperts{logits_, shape().normalised, t.routing});
  if (shape().drops()) {
    add("route", GroupRows{t.routing,
                           shape().chosen,
                           0,
                           shape().experts,
                           1,
                           false,
                           t.choice_tokens,
                           {},
                           t.choice_places,
                           t.choice_offsets});
    add("route", LimitChoices{t.routing, t.choice_places, t.choice_offsets, shape().capacity()});
  }
  if (rows().kind == ExchangeKind::all_gather) {
    add("dispatch", plan_rows(rank, session, t.x, t.received, false));
    add("dispatch", plan_rows(rank, session, t.routing, t.received_routing, false));
    return;
  }
  const bool once = rows().kind == ExchangeKind::per_rank;
  Tensor sorted = t.sent_routing;  // of per_expert: the expert of each row
  std::swap(sorted.rows, sorted.columns);
  add("pack", GroupRows{t.routing, shape().chosen, 0, once ? rank.size : shape().experts,
                        once ? own_experts() : 1, once, t.sent_tokens, once ? Tensor() : sorted,
                        t.sent_places});
  add("pack", GatherRows{t.x, t.sent_tokens, t.sent});
  if (once) add("pack", GatherRows{t.routing, t.sent_tokens, t.sent_routing});
  add("dispatch", plan_rows(rank, session, t.sent, t.received, false));
  add("dispatch", plan_rows(rank, session, t.sent_routing, t.received_routing, false));
}

void MoeLayer::add_expert_phases(bool exchanges) {
  const MoeTensors& t = tensors_;
  const bool per_expert = rows().kind == ExchangeKind::per_expert;
  if (exchanges) {
    add("expand", GroupRows{t.received_routing,
                            per_expert ? 1 : shape().chosen,
                            rank_ * own_experts(),
                            own_experts(),
                            1,
                            false,
                            t.tokens,
                            {},
                            t.places});
    add("expand", GatherRows{t.received, t.tokens, t.expanded});
  }
  phases_.push_back({"experts", [this](Stream& stream) { up_->enqueue(stream); }});
  add("experts", SwiGlu{t.gate_up, t.activated});
  phases_.push_back({"experts", [this](Stream& stream) { down_->enqueue(stream); }});
  if (!exchanges) return;
  add("reduce",
      CombineRows{t.products, t.places, per_expert ? Tensor() : t.received_routing, t.partial});
}

void MoeLayer::add_returning(Rank& rank, CollectiveSession& session) {
  const MoeTensors& t = tensors_;
  if (rows().kind == ExchangeKind::all_gather)
    return add("combine", plan_rows(rank, session, t.partial, t.out, true));
  const bool per_expert = rows().kind == ExchangeKind::per_expert;
  add("combine", plan_rows(rank, session, t.partial, t.returned, true));
  add("sum", CombineRows{t.returned, t.sent_places, per_expert ? t.routing : Tensor(), t.out});
}

void MoeLayer::enqueue(Stream& stream, StepTimeline* timeline) const {
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    phases_[i].enqueue(stream);
    const bool ends = i + 1 == phases_.size() || phases_[i + 1].name != phases_[i].name;
    if (timeline != nullptr && ends) timeline->ended(stream, phases_[i].name);
  }
}

std::size_t MoeLayer::operations_queued() const {
  const auto peers = static_cast<std::size_t>(rows().ranks);
  return phases_.size() + up_->operations() + down_->operations() +
         plans_.size() * peers * kOperationsOfCollective;
}

double MoeLayer::wire_bytes() const {
  return std::accumulate(plans_.begin(), plans_.end(), 0.0,
                         [](double sum, const auto& plan) { return sum + plan->wire_bytes(); });
}

bool MoeLayer::host_driven() const {
  return up_->blocks() || down_->blocks() ||
         std::any_of(plans_.begin(), plans_.end(),
                     [](const auto& plan) { return plan->host_driven(); });
}

void MoeLayer::poison_staging() const {
  for (const auto& plan : plans_) plan->poison_staging();
}

std::string MoeLayer::algorithm() const {
  return plans_.empty() ? "" : plans_.front()->algorithm();
}

std::string MoeLayer::gemm_algorithm() const { return up_->algorithm(); }

}  // namespace duet
