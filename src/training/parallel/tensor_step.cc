#include "training/parallel/tensor_step.h"

#include "core/error.h"
#include "training/parallel/gradient_buckets.h"

namespace duet {
namespace {

constexpr double kPassSeconds = 600;
// While sums of one range are on their way the next one is made.
constexpr int kSumRanges = 2;

// A product of rows of `all`, as a collective asks for it.
MultiplyRows in_rows(const RowExchange::Gemm& gemm, const Tensor& all) {
  return [&gemm, columns = all.columns, dtype = all.dtype](Stream& stream, const CallRows& each) {
    const auto first = static_cast<std::int64_t>(each.rows.first);
    const auto count = static_cast<std::int64_t>(each.rows.count);
    gemm(stream, {first, first + count}, {each.place, count, columns, dtype});
  };
}

}  // namespace

PlannedRowExchange::Planning::Planning(PlannedRowExchange& exchange, Rank& rank,
                                       CollectiveSession& session)
    : exchange_(exchange), rank_(rank), session_(session) {
  exchange_.planning_ = this;
}

void PlannedRowExchange::gather(Stream& stream, const Tensor& own, const Tensor& all,
                                const Gemm& gemm) {
  exchange(stream, CollectiveKind::all_gather, own, all, gemm);
}

void PlannedRowExchange::scatter(Stream& stream, const Tensor& partial, const Tensor& own,
                                 const Gemm& gemm) {
  exchange(stream, CollectiveKind::reduce_scatter, own, partial, gemm);
}

void PlannedRowExchange::exchange(Stream& stream, CollectiveKind kind, const Tensor& own,
                                  const Tensor& all, const Gemm& gemm) {
  const Key key{kind, own.span.data, all.span.data, own.bytes(), static_cast<bool>(gemm)};
  std::unique_ptr<CollectivePlan>& plan = plans_[key];
  if (planning_ != nullptr) return this->plan(plan, stream, kind, own, all, gemm);
  if (plan == nullptr) throw BadArgument("an exchange of rows: expected one that was planned");
  if (gemm) {
    plan->enqueue_rows(stream, in_rows(gemm, all));
  } else {
    plan->enqueue(stream);
  }
  if (timeline_ != nullptr) timeline_->ended(stream, std::string(name(kind)));
}

// Products plan and tune when they are first made, which must not be while ranks wait for each
// other: they are made here one by one, of the rows that the call has told.
void PlannedRowExchange::plan(std::unique_ptr<CollectivePlan>& plan, Stream& stream,
                              CollectiveKind kind, const Tensor& own, const Tensor& all,
                              const Gemm& gemm) {
  const bool gathers = kind == CollectiveKind::all_gather;
  if (plan == nullptr) {
    Collective rows;
    rows.kind = kind;
    rows.dtype = own.dtype;
    rows.op = Reduction::sum;
    rows.count = static_cast<std::uint64_t>(own.count());
    if (gemm) {
      rows.rows = {static_cast<std::uint64_t>(own.columns), gathers ? 1 : kSumRanges,
                   RowSums::in_slots};
    }
    const CollectiveBuffers buffers =
        gathers ? CollectiveBuffers{own.span, all.span} : CollectiveBuffers{all.span, own.span};
    plan = planning_->session_.plan(planning_->rank_, rows, buffers);
  }
  calls_.push_back(plan.get());
  first_of_kind_.emplace(kind, plan.get());
  if (!gemm) return;
  std::vector<CallRows> ranges;
  plan->enqueue_rows(stream, [&](Stream&, const CallRows& each) { ranges.push_back(each); });
  stream.synchronize(kPassSeconds);
  const MultiplyRows multiply = in_rows(gemm, all);
  for (const CallRows& each : ranges) multiply(stream, each);
}

std::string PlannedRowExchange::algorithm(CollectiveKind kind) const {
  const auto found = first_of_kind_.find(kind);
  return found == first_of_kind_.end() ? "" : found->second->algorithm();
}

std::string PlannedRowExchange::algorithms() const {
  return algorithm(CollectiveKind::all_gather) + "; " + algorithm(CollectiveKind::reduce_scatter);
}

double PlannedRowExchange::wire_bytes() const {
  double bytes = 0;
  for (const CollectivePlan* const each : calls_) bytes += each->wire_bytes();
  return bytes;
}

TensorStep::TensorStep(Rank& rank, CollectiveSession& session, Model& model)
    : model_(model), exchanging_(model, &rows_) {
  const SharedStaging sharing(session, rank);  // no two calls run at a time
  {
    const PlannedRowExchange::Planning planning(rows_, rank, session);
    const auto stream = rank.device.make_stream();
    model.forward(*stream);
    model.backward(*stream, Accumulate::no);
    stream->synchronize(kPassSeconds);
  }
  plan_partials(rank, session);
  const Tensor& squares = model.squares();
  sum_squares_ = session.plan(rank, GradientBuckets::sum(squares.dtype, squares.count()),
                              {squares.span, squares.span});
}

void TensorStep::plan_partials(Rank& rank, CollectiveSession& session) {
  const Parameters& parameters = model_.parameters();
  const std::int64_t count = parameters.partial_count();
  if (count == 0) return;
  const std::vector<Parameters::Partial> partials = parameters.partial_gradients();
  const DType dtype = parameters.recipe().gradients;
  const Collective sum = GradientBuckets::sum(dtype, count);
  if (parameters.units().empty()) {
    const Span& all = partials.front().gradients.span;
    sum_partials_ = session.plan(rank, sum, {all, all});
    return;
  }
  const Tensor all{{}, 1, count, dtype};
  addends_ = rank.device.allocate(all.bytes());
  sums_ = rank.device.allocate(all.bytes());
  const auto stream = rank.device.make_stream();
  stream->fill(addends_.span(), {FillKind::constant, 0});
  stream->synchronize(kPassSeconds);
  for (const Parameters::Partial& each : partials) {
    const std::uint64_t first = static_cast<std::uint64_t>(each.first) * size_of(dtype);
    const std::uint64_t bytes = each.gradients.bytes();
    partials_.push_back({each.gradients.span, addends_.span().slice(first, bytes),
                         sums_.span().slice(first, bytes)});
  }
  sum_partials_ = session.plan(rank, sum, {addends_.span(), sums_.span()});
}

void TensorStep::backward(Stream& stream, Accumulate gradients) {
  model_.backward(stream, gradients);
  sum_partial_gradients(stream);
}

void TensorStep::sum_partial_gradients(Stream& stream) {
  if (sum_partials_ == nullptr) return;
  for (const Partial& each : partials_)
    stream.copy({each.addends, each.gradients, Executor::kernel, {}});
  sum_partials_->enqueue(stream);
  for (const Partial& each : partials_)
    stream.copy({each.gradients, each.sums, Executor::kernel, {}});
  if (timeline_ != nullptr) timeline_->ended(stream, "all_reduce");
}

void TensorStep::communicate(Stream& stream) {
  for (CollectivePlan* const each : rows_.calls()) each->enqueue(stream);
  if (sum_partials_ != nullptr) sum_partials_->enqueue(stream);
}

void TensorStep::set_timeline(StepTimeline* timeline) {
  rows_.set_timeline(timeline);
  timeline_ = timeline;
}

double TensorStep::wire_bytes() const {
  return rows_.wire_bytes() + (sum_partials_ != nullptr ? sum_partials_->wire_bytes() : 0);
}

std::map<std::string, std::string> TensorStep::notes() const {
  return {{"algorithm", rows_.algorithms()}, {"exchanges", std::to_string(rows_.calls().size())}};
}

}  // namespace duet
