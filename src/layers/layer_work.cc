#include "layers/layer_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/packing.h"
#include "gemm/reference.h"

namespace duet {
namespace {

// Operations of a call, for the launch queue: of each range a multiplication with what belongs to
// it, two waits or signals, and a copy.
constexpr std::size_t kOperationsOfRange = 6;
// Of an activation: a value is rounded once, to fp8 by up to a sixteenth, and exp() is not exact.
double activation_error(DType dtype) {
  return (dtype == DType::fp8_e4m3 ? 1.0 / 16 : 0) + 1.0 / 64;
}

}  // namespace

LayerWork::LayerWork(Team& team, GemmEngine& gemm, const Layer& layer, const LayerWay& way,
                     const Tuning& tuning)
    : team_(team),
      gemm_(gemm),
      layer_(layer),
      way_(way),
      tuning_(tuning),
      states_(static_cast<std::size_t>(team.local_size())) {}

Cost LayerWork::cost() const {
  Cost cost;
  for (const LayerOperation& each : layer_.operations) {
    const GemmProblem problem = problem_of(each, team_.size());
    cost.flop += team_.size() * flop(problem);
    cost.memory_bytes += team_.size() * bytes(problem);
  }
  cost.wire_bytes = wire_bytes_;
  return cost;
}

void LayerWork::prepare(Rank& rank, const Placement& placement) {
  RankState& own = state(rank);
  rank.team.free_retired(rank);
  double wire_bytes = 0;
  for (const LayerOperation& each : layer_.operations) {
    const std::uint64_t seed = (own.linears.size() + 1) << 32;
    const bool is_made = layer_.activates && !own.linears.empty();
    own.linears.emplace_back(rank, gemm_, each, way_, tuning_, seed, is_made);
    wire_bytes += own.linears.back().wire_bytes();
  }
  if (layer_.activates) own.operations = make_operations(rank.device);
  const auto stream = rank.device.make_stream({placement.priority});
  for (const LayerLinear& each : own.linears) each.fill(rank, own.fills, *stream);
  stream->synchronize(kLayerDeadline);
  const auto all = rank.team.gather(rank, fmt::format("{}", wire_bytes),
                                    "the other ranks to have prepared", kLayerDeadline);
  if (way_.graph.launches > 0) capture_calls(rank, own, *stream);
  if (rank.local != 0) return;
  wire_bytes_ = 0;
  for (const std::string& each : *all) wire_bytes_ += std::stod(each);
  host_driven_ = std::any_of(own.linears.begin(), own.linears.end(),
                             [](const LayerLinear& each) { return each.host_driven(); });
  algorithm_ = own.linears.front().algorithm();
  gemm_algorithm_ = own.linears.front().gemm_algorithm();
}

void LayerWork::capture_calls(Rank& rank, RankState& own, Stream& stream) {
  const auto reason = way_.session != nullptr ? way_.session->uncapturable() : std::nullopt;
  if (reason) throw Unavailable(reason->reason);
  enqueue_call(own, stream);
  stream.synchronize(kLayerDeadline);
  own.graph = capture(stream, [&] {
    for (int call = 0; call < way_.graph.calls; ++call) enqueue_call(own, stream);
  });
  const std::size_t largest = largest_graph(rank, *own.graph, kLayerDeadline);
  if (rank.local == 0) graph_size_ = largest;
}

std::size_t LayerWork::operations() const {
  if (way_.graph.launches > 0) return static_cast<std::size_t>(way_.graph.launches) * graph_size_;
  const auto ranges = static_cast<std::size_t>(std::max(1, way_.ranges) * team_.size());
  return kOperationsOfRange * ranges * layer_.operations.size();
}

int LayerWork::most_queued() const { return std::max(1, calls_queued(operations())); }

// Between the two linears. Elements of gate and up are sums of K products of about 1 each, what is
// made of a pair about K: in fp8 it is scaled to the size of other inputs.
SwiGlu LayerWork::activation(const RankState& own) const {
  const GemmProblem &made = own.linears[0].problem(), &taken = own.linears[1].problem();
  SwiGlu swiglu{{own.linears[0].y(), made.m, made.n, made.output},
                {own.linears[1].x(), taken.m, taken.k, taken.dtype}};
  if (swiglu.makes_fp8()) swiglu.factor = 1 / static_cast<float>(made.k);
  return swiglu;
}

void LayerWork::enqueue_call(const RankState& own, Stream& stream, StepTimeline* timeline) const {
  for (std::size_t i = 0; i < own.linears.size(); ++i) {
    if (i > 0 && layer_.activates) own.operations->run(stream, activation(own));
    own.linears[i].enqueue(stream, timeline);
  }
}

// A first call hides how long it takes to enqueue the second one.
std::vector<LayerWork::Times> LayerWork::time_call(Rank& rank) {
  const RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  StepTimeline timeline(rank.device);
  rank.team.barrier("all ranks to time a call", kLayerDeadline);
  enqueue_call(own, *stream);
  timeline.begin(*stream);
  enqueue_call(own, *stream, &timeline);
  timeline.ended(*stream, "call");
  stream->synchronize(kLayerDeadline);
  std::vector<std::string> mine;
  for (const StepTimeline::Part& each : timeline.parts()) {
    if (each.beside) mine.push_back(fmt::format("{}", each.begin));
    mine.push_back(fmt::format("{}", each.end));
  }
  const auto all =
      rank.team.gather(rank, pack(mine), "the other ranks to have timed a call", kLayerDeadline);
  std::vector<Times> times;
  for (const std::string& each : *all) {
    Times& of = times.emplace_back();
    for (const std::string& number : unpack(each)) of.gemms.push_back(std::stod(number));
    of.end = of.gemms.front();
    of.gemms.erase(of.gemms.begin());
  }
  return times;
}

void LayerWork::enqueue(Rank& rank, Stream& stream) {
  const RankState& own = state(rank);
  if (own.graph == nullptr) return enqueue_call(own, stream);
  for (int launch = 0; launch < way_.graph.launches; ++launch) own.graph->launch(stream);
}

void LayerWork::renew(Rank& rank) {
  RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  ++own.fills;
  for (const LayerLinear& each : own.linears) {
    each.fill(rank, own.fills, *stream);
    each.poison_staging();
  }
  stream->synchronize(kLayerDeadline);
}

std::optional<Skipped> LayerWork::verify(Rank& rank) {
  const RankState& own = state(rank);
  for (const LayerLinear& each : own.linears) {
    if (const auto skipped = each.unverifiable()) return *skipped;
  }
  if (layer_.activates && !own.operations->computes(activation(own).gate_up))
    return Skipped{"simulated: activations this large are not computed"};
  for (const LayerLinear& each : own.linears) each.verify(rank);
  if (layer_.activates) verify_activation(rank, own);
  return std::nullopt;
}

void LayerWork::verify_activation(Rank& rank, const RankState& own) const {
  const SwiGlu swiglu = activation(own);
  for (const std::int64_t row : sampled_rows(swiglu.y.rows)) {
    const auto values = [&](const Tensor& of) {
      return row_values(rank.device, of.span, of.columns, of.dtype, row);
    };
    const std::vector<double> in = values(swiglu.gate_up), out = values(swiglu.y);
    for (std::size_t i = 0; i < out.size(); ++i) {
      double wanted = swiglu.factor * in[i] / (1 + std::exp(-in[i])) * in[out.size() + i];
      if (swiglu.makes_fp8()) wanted = std::clamp<double>(wanted, -kLargestE4M3, kLargestE4M3);
      const double allowed = activation_error(swiglu.y.dtype) * (1 + std::abs(wanted));
      if (std::abs(out[i] - wanted) <= allowed) continue;
      throw Mismatch(fmt::format("{} on rank {}: the activation of row {} is {} at {}, expected {}",
                                 layer_.part, rank.index, row, out[i], i, wanted));
    }
  }
}

void LayerWork::release(Rank& rank) noexcept {
  RankState& own = state(rank);
  own.graph.reset();
  own.linears.clear();
  own.operations.reset();
}

}  // namespace duet
