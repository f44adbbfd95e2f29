#include "training/parallel/gradient_buckets.h"

#include <algorithm>

namespace duet {
namespace {

bool empty(const ParameterRange& range) { return range.first == range.last; }

bool adjacent(const ParameterRange& one, const ParameterRange& other) {
  return one.first == other.last || one.last == other.first;
}

ParameterRange joined(const ParameterRange& one, const ParameterRange& other) {
  if (empty(one)) return other;
  return {std::min(one.first, other.first), std::max(one.last, other.last)};
}

struct PlannedBucket {
  std::size_t behind;
  Tensor gradients;
};

// Of the parameters of one group, of which `group` is the number in Parameters::gradients().
std::vector<PlannedBucket> planned_buckets(const Parameters& parameters, std::size_t group,
                                           const std::vector<ParameterRange>& ranges,
                                           std::uint64_t least_bytes) {
  std::vector<PlannedBucket> buckets;
  ParameterRange open{};
  const auto gradients = [&] { return parameters.gradients(open)[group]; };
  const auto close = [&](std::size_t behind) {
    if (gradients().count() > 0) buckets.push_back({behind, gradients()});
    open = {};
  };
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!empty(open) && !adjacent(open, ranges[i])) close(i);
    open = joined(open, ranges[i]);
    if (gradients().bytes() >= least_bytes || i + 1 == ranges.size()) close(i);
  }
  return buckets;
}

}  // namespace

GradientBuckets::GradientBuckets(Rank& rank, CollectiveSession& session, Model& model,
                                 const std::vector<ParameterRange>& ranges,
                                 std::uint64_t least_bytes, const StreamOptions& options)
    : model_(model), sums_(rank.device, options) {
  const SharedStaging sharing(session, rank);  // no two calls run at a time
  const Parameters& parameters = model.parameters();
  std::vector<PlannedBucket> planned;
  for (std::size_t group = 0; group < parameters.gradients().size(); ++group) {
    for (PlannedBucket& each : planned_buckets(parameters, group, ranges, least_bytes)) {
      planned.push_back(std::move(each));
    }
  }
  std::stable_sort(planned.begin(), planned.end(),
                   [](const PlannedBucket& one, const PlannedBucket& other) {
                     return one.behind < other.behind;
                   });
  for (const PlannedBucket& each : planned) {
    const Tensor& gradients = each.gradients;
    buckets_.push_back({each.behind, gradients.bytes(),
                        session.plan(rank, sum(gradients.dtype, gradients.count()),
                                     {gradients.span, gradients.span})});
  }
}

Collective GradientBuckets::sum(DType dtype, std::int64_t elements) {
  Collective all_reduce;
  all_reduce.kind = CollectiveKind::all_reduce;
  all_reduce.dtype = dtype;
  all_reduce.op = Reduction::sum;
  all_reduce.count = static_cast<std::uint64_t>(elements);
  return all_reduce;
}

void GradientBuckets::backward(Stream& stream, Accumulate gradients) {
  std::size_t complete = 0;
  auto next = buckets_.begin();
  model_.backward(stream, gradients, [&](const ParameterRange&) {
    for (; next != buckets_.end() && next->behind == complete; ++next) {
      sums_.run(stream, "all_reduce", [&](Stream& own) { next->plan->enqueue(own); });
    }
    ++complete;
  });
  sums_.join(stream);
}

void GradientBuckets::communicate(Stream& stream) {
  for (const Bucket& each : buckets_) each.plan->enqueue(stream);
}

double GradientBuckets::wire_bytes() const {
  double bytes = 0;
  for (const Bucket& each : buckets_) bytes += each.plan->wire_bytes();
  return bytes;
}

std::map<std::string, std::string> GradientBuckets::notes() const {
  const auto largest = std::max_element(
      buckets_.begin(), buckets_.end(),
      [](const Bucket& one, const Bucket& other) { return one.bytes < other.bytes; });
  return {{"algorithm", largest->plan->algorithm()}, {"buckets", std::to_string(buckets_.size())}};
}

}  // namespace duet
