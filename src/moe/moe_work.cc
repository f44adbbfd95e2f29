#include "moe/moe_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/packing.h"
#include "timing/statistics.h"

namespace duet {
namespace {

constexpr std::uint64_t kRoutingSeed = 1;
constexpr int kTimedCalls = 9;  // whose phases are timed

// What the parts of each name take together, in the order of their first ones.
std::vector<std::pair<std::string, double>> sums_by_name(
    const std::vector<StepTimeline::Part>& parts) {
  std::vector<std::pair<std::string, double>> sums;
  for (const StepTimeline::Part& part : parts) {
    auto at = std::find_if(sums.begin(), sums.end(),
                           [&](const auto& each) { return each.first == part.what; });
    if (at == sums.end()) at = sums.insert(sums.end(), {part.what, 0.0});
    at->second += part.end - part.begin;
  }
  return sums;
}

std::string contents(const Tensor& tensor) {
  std::string bytes(tensor.bytes(), '\0');
  tensor.span.owner->read(tensor.span, bytes.data());
  return bytes;
}

}  // namespace

MoeRoutings::MoeRoutings(const TokenRouting& routing, const MoeShape& shape, int count, Team& team)
    : nodes_(NodeMap::of(team)) {
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = kRoutingSeed + static_cast<std::uint64_t>(i);
    RoutedTokens routed{shape, team.size(), {}, {}};
    auto& own = logits_.emplace_back();
    for (int rank = 0; rank < team.size(); ++rank) {
      std::vector<float> logits = router_logits(routing, shape, seed, rank);
      add_tokens(routed, logits);
      if (team.is_local(rank)) own.push_back(std::move(logits));
    }
    routed_.push_back(std::make_shared<RoutedTokens>(std::move(routed)));
  }
}

double MoeRoutings::dropped_share() const {
  double dropped = 0, all = 0;
  for (const auto& each : routed_) {
    dropped += static_cast<double>(each->dropped());
    all += static_cast<double>(each->experts.size());
  }
  return dropped / all;
}

const std::shared_ptr<const ExchangedRows>& MoeRoutings::rows(std::size_t number,
                                                              ExchangeKind kind) const {
  auto& known = rows_[{number, kind}];
  if (known == nullptr)
    known = std::make_shared<ExchangedRows>(exchange(kind, *routed_[number], nodes_));
  return known;
}

MoeCall MoeRoutings::call(std::size_t number, ExchangeKind kind, int local) const {
  return {routed_[number], rows(number, kind), &logits_[number][static_cast<std::size_t>(local)]};
}

MoeWork::MoeWork(Team& team, const MoeRoutings& routings, const MoeWay& way, const Tuning& tuning)
    : team_(team),
      routings_(routings),
      way_(way),
      tuning_(tuning),
      states_(static_cast<std::size_t>(team.local_size())) {
  for (int local = 0; local < team.local_size(); ++local) {
    auto& calls = calls_.emplace_back();
    for (std::size_t i = 0; i < routings.count(); ++i) {
      calls.push_back(routings.call(i, way.exchange, local));
      calls.back().host_counts = way.counts == MoeCounts::host;
    }
  }
}

Cost MoeWork::cost() const {
  const MoeShape& shape = routings_.shape();
  const auto tokens = static_cast<double>(team_.size()) * static_cast<double>(shape.tokens) *
                      static_cast<double>(batches());
  Cost cost;
  // Gate, up and down of each of a token's experts.
  const double experts = static_cast<double>(shape.chosen) * (1 - routings_.dropped_share()) +
                         static_cast<double>(shape.shared);
  const double passes = shape.trains ? 3 : 1;  // a backward pass multiplies twice as much
  cost.flop = 6 * passes * tokens * experts * static_cast<double>(shape.width * shape.hidden);
  cost.wire_bytes = wire_bytes_;
  cost.more.set("tokens", tokens);
  return cost;
}

void MoeWork::prepare(Rank& rank, const Placement& placement) {
  RankState& own = state(rank);
  rank.team.free_retired(rank);
  own.operations = make_operations(rank.device);
  const std::vector<MoeCall>& calls = calls_[static_cast<std::size_t>(rank.local)];
  const MoeSizes most = most_of(calls, rank.index);
  for (std::size_t batch = 0; batch < batches(); ++batch) {
    own.memory.push_back(std::make_unique<MoeMemory>(rank, routings_.shape(), way_.exchange,
                                                     way_.session, most, batch));
  }
  // Where rows cannot be verified, neither can be what they choose.
  const Tensor x = own.memory.front()->tensors(most).x;
  if (x.count() > 0 && !own.operations->computes(x)) own.operations->simulate_time_alone();
  const auto stream = rank.device.make_stream({placement.priority});
  own.weights = std::make_unique<MoeWeights>(rank, routings_.shape(), *stream);
  for (const auto& each : own.memory) each->fill(rank.index, own.fills, *stream);
  stream->synchronize(kMoeDeadline);
  double wire_bytes = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    own.layers.push_back(std::make_unique<MoeLayer>(rank, calls[i], way_.session, *own.weights,
                                                    *own.memory[i % batches()], *own.operations,
                                                    tuning_));
    wire_bytes += own.layers.back()->wire_bytes() * static_cast<double>(batches()) /
                  static_cast<double>(calls.size());
  }
  own.runner = std::make_unique<MoeStageRunner>(rank.device, way_.overlap, placement.priority);
  if (way_.graph.launches > 0) capture_calls(own, *stream);
  const std::size_t queued = own.graph != nullptr
                                 ? largest_graph(rank, *own.graph, kMoeDeadline)
                                 : batches() * own.layers.front()->operations_queued();
  const auto all = rank.team.gather(rank, fmt::format("{}", wire_bytes),
                                    "the other ranks to have prepared", kMoeDeadline);
  if (rank.local != 0) return;
  queued_ = queued;
  wire_bytes_ = 0;
  for (const std::string& each : *all) wire_bytes_ += std::stod(each);
  host_driven_ = own.layers.front()->host_driven();
  algorithm_ = own.layers.front()->algorithm();
  gemm_algorithm_ = own.layers.front()->gemm_algorithm();
}

// A call that is not captured loads what the first call needs.
void MoeWork::capture_calls(RankState& own, Stream& stream) {
  const auto reason = way_.session != nullptr ? way_.session->uncapturable() : std::nullopt;
  if (reason) throw Unavailable(reason->reason);
  for (std::size_t i = 0; i < own.layers.size(); i += batches()) enqueue_call(own, stream);
  stream.synchronize(kMoeDeadline);
  own.graph = capture(stream, [&] {
    for (int call = 0; call < way_.graph.calls; ++call) enqueue_call(own, stream);
  });
}

std::size_t MoeWork::operations() const {
  return way_.graph.launches > 0 ? static_cast<std::size_t>(way_.graph.launches) * queued_
                                 : queued_;
}

void MoeWork::enqueue_call(RankState& own, Stream& stream, StepTimeline* timeline) const {
  std::vector<const MoeStages*> stages;
  for (std::size_t i = 0; i < batches(); ++i) stages.push_back(&own.layers[own.next + i]->stages());
  own.runner->enqueue(stages, stream, timeline);
  own.next = (own.next + batches()) % own.layers.size();
}

std::vector<const MoeLayer*> MoeWork::last(const RankState& own) const {
  const std::size_t first = (own.next + own.layers.size() - batches()) % own.layers.size();
  std::vector<const MoeLayer*> layers;
  for (std::size_t i = 0; i < batches(); ++i) layers.push_back(own.layers[first + i].get());
  return layers;
}

// A graph ends with the call that was captured last, however often it is launched.
void MoeWork::enqueue(Rank& rank, Stream& stream) {
  RankState& own = state(rank);
  if (own.graph == nullptr) return enqueue_call(own, stream);
  for (int launch = 0; launch < way_.graph.launches; ++launch) own.graph->launch(stream);
}

void MoeWork::renew(Rank& rank) {
  RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  ++own.fills;
  for (const auto& each : own.memory) each->fill(rank.index, own.fills, *stream);
  stream->synchronize(kMoeDeadline);
  for (const auto& each : own.layers) each->poison_staging();
}

std::optional<Skipped> MoeWork::verify(Rank& rank) {
  RankState& own = state(rank);
  const std::vector<const MoeLayer*> layers = last(own);
  // A simulated rank without rows has none without contents.
  std::optional<Skipped> skipped;
  for (const MoeLayer* each : layers) {
    if (!skipped) skipped = each->unverifiable();
  }
  const std::string reason = rank.team.first_reason(rank, skipped ? skipped->reason : "",
                                                    "the other ranks to verify", kMoeDeadline);
  if (!reason.empty()) return Skipped{reason};
  for (const MoeLayer* each : layers) each->verify(rank, own.fills);
  if (way_.session != nullptr) verify_repeated(rank, layers);
  return std::nullopt;
}

void MoeWork::verify_repeated(Rank& rank, const std::vector<const MoeLayer*>& layers) {
  RankState& own = state(rank);
  const auto results = [&] {
    std::string bytes;
    for (const MoeLayer* each : layers) {
      for (const Tensor& result : each->results()) bytes += contents(result);
    }
    return bytes;
  };
  const std::string before = results();
  const auto stream = rank.device.make_stream();
  // A peer may write to the result from its call's begin on.
  rank.team.barrier("all ranks to repeat a call", kMoeDeadline);
  own.next = (own.next + own.layers.size() - batches()) % own.layers.size();
  enqueue_call(own, *stream);
  stream->synchronize(kMoeDeadline);
  if (results() == before) return;
  throw Mismatch(fmt::format("moe on rank {}: the same call gives other bits", rank.index));
}

std::vector<std::pair<std::string, double>> MoeWork::time_phases(Rank& rank) {
  RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  std::vector<std::string> names;
  std::vector<std::vector<double>> times;  // by phase
  for (int call = 0; call < kTimedCalls; ++call) {
    StepTimeline timeline(rank.device);
    rank.team.barrier("all ranks to time a call", kMoeDeadline);
    enqueue_call(own, *stream);  // hides how long it takes to enqueue the second one
    timeline.begin(*stream);
    enqueue_call(own, *stream, &timeline);
    stream->synchronize(kMoeDeadline);
    for (const auto& [name, seconds] : sums_by_name(timeline.parts())) {
      const auto found = std::find(names.begin(), names.end(), name);
      const auto at = static_cast<std::size_t>(found - names.begin());
      if (found == names.end()) {
        names.push_back(name);
        times.emplace_back();
      }
      times[at].push_back(seconds);
    }
  }
  std::vector<std::string> medians;
  for (const std::vector<double>& each : times)
    medians.push_back(fmt::format("{}", summarise(each).median));
  const auto all =
      rank.team.gather(rank, pack(medians), "the other ranks to have timed calls", kMoeDeadline);
  std::vector<std::pair<std::string, double>> longest;
  for (const std::string& each : names) longest.emplace_back(each, 0);
  for (const std::string& theirs : *all) {
    const std::vector<std::string> numbers = unpack(theirs);
    for (std::size_t i = 0; i < longest.size(); ++i)
      longest[i].second = std::max(longest[i].second, std::stod(numbers[i]));
  }
  return longest;
}

void MoeWork::release(Rank& rank) noexcept {
  RankState& own = state(rank);
  own.graph.reset();
  own.runner.reset();
  own.layers.clear();
  own.memory.clear();
  own.weights.reset();
  own.operations.reset();
}

}  // namespace duet
