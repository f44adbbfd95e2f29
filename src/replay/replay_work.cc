#include "replay/replay_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace duet {
namespace {

// Operations of a collective for the launch queue: what a plan enqueues for each peer, and the
// events around it.
constexpr std::size_t kOperationsOfPeer = 4, kOperationsOfCollective = 8;

}  // namespace

const char* name(ReplayOrder order) {
  switch (order) {
    case ReplayOrder::serial:
      return "serial";
    case ReplayOrder::overlapped:
      return "overlapped";
    case ReplayOrder::gemms:
      return "gemms";
    case ReplayOrder::collectives:
      break;
  }
  return "collectives";
}

ReplayWork::ReplayWork(Team& team, ReplayPlans& plans, ReplayOrder order, const GraphUse& graph)
    : team_(team),
      plans_(plans),
      order_(order),
      graph_(graph),
      ranks_(static_cast<std::size_t>(team.local_size())) {}

bool ReplayWork::makes(ReplayCall::Kind kind) const {
  switch (kind) {
    case ReplayCall::Kind::gemm:
      return order_ != ReplayOrder::collectives;
    case ReplayCall::Kind::collective:
      return order_ != ReplayOrder::gemms;
    case ReplayCall::Kind::wait:
      break;
  }
  return order_ == ReplayOrder::overlapped;
}

std::optional<std::size_t> ReplayWork::last(ReplayCall::Kind kind) const {
  if (!makes(kind)) return std::nullopt;
  const std::vector<ReplayCall>& calls = plans_.step().calls;
  const auto found = std::find_if(calls.rbegin(), calls.rend(),
                                  [&](const ReplayCall& call) { return call.kind == kind; });
  return found == calls.rend() ? std::nullopt : std::optional(found->index);
}

Cost ReplayWork::cost() const {
  Cost cost;
  if (makes(ReplayCall::Kind::gemm)) {
    for (const ReplayGemm& each : plans_.step().gemms) {
      const double calls = each.recorded.calls * team_.size();
      cost.flop += calls * flop(each.problem);
      cost.memory_bytes += calls * bytes(each.problem);
    }
  }
  cost.wire_bytes = wire_bytes_;
  return cost;
}

void ReplayWork::prepare(Rank& rank, const Placement& placement) {
  OfRank& own = state(rank);
  own.acquired = true;
  plans_.acquire(rank);
  if (order_ == ReplayOrder::overlapped) make_events(rank, own, placement);
  double wire_bytes = 0;
  bool host_driven = false;
  if (makes(ReplayCall::Kind::collective)) {
    for (std::size_t i = 0; i < plans_.step().collectives.size(); ++i) {
      const CollectivePlan& plan = plans_.collective(rank, i);
      wire_bytes += plans_.step().collectives[i].recorded.calls * plan.wire_bytes();
      host_driven = host_driven || plan.host_driven();
    }
  }
  const auto all = rank.team.gather(rank, fmt::format("{}", wire_bytes),
                                    "the other ranks to have prepared", kReplayDeadline);
  if (graph_.launches > 0) {
    const auto stream = rank.device.make_stream({placement.priority});
    capture_step(rank, own, *stream);
  }
  if (rank.local != 0) return;
  host_driven_ = host_driven;
  wire_bytes_ = 0;
  for (const std::string& each : *all) wire_bytes_ += std::stod(each);
}

void ReplayWork::make_events(Rank& rank, OfRank& own, const Placement& placement) {
  own.side = rank.device.make_stream({placement.priority});
  own.issued = rank.device.make_event(EventUse::order);
  std::size_t collectives = 0;
  const auto add = [&](std::size_t count) {
    if (count > 0) own.done[count] = rank.device.make_event(EventUse::order);
  };
  for (const ReplayCall& call : plans_.step().calls) {
    if (call.kind == ReplayCall::Kind::collective) ++collectives;
    if (call.kind == ReplayCall::Kind::wait) add(call.index);
  }
  add(collectives);
}

void ReplayWork::capture_step(Rank& rank, OfRank& own, Stream& stream) {
  const auto reason = plans_.session() != nullptr ? plans_.session()->uncapturable() : std::nullopt;
  if (reason) throw Unavailable(reason->reason);
  enqueue_step(rank, own, stream);  // loads what a first call needs
  stream.synchronize(kReplayDeadline);
  own.graph = capture(stream, [&] {
    for (int call = 0; call < graph_.calls; ++call) enqueue_step(rank, own, stream);
  });
  const std::size_t largest = largest_graph(rank, *own.graph, kReplayDeadline);
  if (rank.local == 0) graph_size_ = largest;
}

std::size_t ReplayWork::queued() const {
  if (graph_.launches > 0) return static_cast<std::size_t>(graph_.launches) * graph_size_;
  const ReplayStep& step = plans_.step();
  const auto peers = static_cast<std::size_t>(team_.size());
  std::size_t all = 0;
  if (makes(ReplayCall::Kind::gemm)) all += static_cast<std::size_t>(step.gemm_calls());
  if (makes(ReplayCall::Kind::collective)) {
    all += static_cast<std::size_t>(step.collective_calls()) *
           (kOperationsOfCollective + kOperationsOfPeer * peers);
  }
  return all;
}

void ReplayWork::enqueue_step(const Rank& rank, OfRank& own, Stream& stream) {
  std::size_t collectives = 0;
  for (const ReplayCall& call : plans_.step().calls) {
    if (!makes(call.kind)) continue;
    switch (call.kind) {
      case ReplayCall::Kind::gemm:
        plans_.enqueue_gemm(rank, call.index, stream);
        break;
      case ReplayCall::Kind::collective:
        enqueue_collective(rank, own, call.index, ++collectives, stream);
        break;
      case ReplayCall::Kind::wait:
        stream.wait(*own.done.at(call.index));
        break;
    }
  }
  if (own.side != nullptr && collectives > 0) stream.wait(*own.done.at(collectives));
}

void ReplayWork::enqueue_collective(const Rank& rank, OfRank& own, std::size_t index,
                                    std::size_t number, Stream& stream) {
  if (own.side == nullptr) return plans_.enqueue_collective(rank, index, stream);
  stream.record(*own.issued);
  own.side->wait(*own.issued);
  plans_.enqueue_collective(rank, index, *own.side);
  const auto done = own.done.find(number);
  if (done != own.done.end()) own.side->record(*done->second);
}

void ReplayWork::enqueue(Rank& rank, Stream& stream) {
  OfRank& own = state(rank);
  if (own.graph == nullptr) return enqueue_step(rank, own, stream);
  for (int launch = 0; launch < graph_.launches; ++launch) own.graph->launch(stream);
}

void ReplayWork::renew(Rank& rank) {
  const auto stream = rank.device.make_stream();
  if (const auto gemm = last(ReplayCall::Kind::gemm)) plans_.fill_gemm(rank, *gemm, *stream);
  if (const auto collective = last(ReplayCall::Kind::collective))
    plans_.fill_collective(rank, *collective, *stream);
  stream->synchronize(kReplayDeadline);
}

std::optional<Skipped> ReplayWork::verify(Rank& rank) {
  const auto skipped = plans_.unverifiable(rank);
  const std::string reason = rank.team.first_reason(rank, skipped ? skipped->reason : "",
                                                    "the other ranks to verify", kReplayDeadline);
  if (!reason.empty()) return Skipped{reason};
  if (const auto gemm = last(ReplayCall::Kind::gemm)) plans_.check_gemm(rank, *gemm);
  if (const auto collective = last(ReplayCall::Kind::collective))
    plans_.check_collective(rank, *collective);
  if (makes(ReplayCall::Kind::gemm) && makes(ReplayCall::Kind::collective)) verify_each(rank);
  return std::nullopt;
}

void ReplayWork::verify_each(Rank& rank) {
  const auto stream = rank.device.make_stream();
  for (std::size_t i = 0; i < plans_.step().gemms.size(); ++i) {
    plans_.fill_gemm(rank, i, *stream);
    plans_.enqueue_gemm(rank, i, *stream);
    stream->synchronize(kReplayDeadline);
    plans_.check_gemm(rank, i);
  }
  for (std::size_t i = 0; i < plans_.step().collectives.size(); ++i) {
    // A peer may write to the receive buffer from its call's begin on.
    plans_.fill_collective(rank, i, *stream);
    stream->synchronize(kReplayDeadline);
    rank.team.barrier("all ranks to have filled their buffers", kReplayDeadline);
    plans_.enqueue_collective(rank, i, *stream);
    stream->synchronize(kReplayDeadline);
    plans_.check_collective(rank, i);
  }
}

void ReplayWork::release(Rank& rank) noexcept {
  OfRank& own = state(rank);
  own.graph.reset();
  own.done.clear();
  own.issued.reset();
  own.side.reset();
  if (own.acquired) plans_.release(rank);
  own.acquired = false;
}

}  // namespace duet
