#include "collectives/collective_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "collectives/call_contents.h"
#include "collectives/cost.h"
#include "core/error.h"
#include "core/packing.h"
#include "timing/measurement.h"
#include "timing/statistics.h"
#include "timing/work.h"

namespace duet {
namespace {

constexpr double kDeadline = 120;            // seconds for any wait outside the samples
constexpr std::uint64_t kGuard = 256;        // bytes before and after each buffer
constexpr std::size_t kMostEnqueues = 4096;  // enqueue times that are kept per rank
constexpr int kCheckedCalls = 4;
constexpr std::uint64_t kFills = kCheckedCalls + 3;  // fills of one work; numbered from 1
constexpr std::uint64_t kMostAside = 64 << 20;  // most bytes of results that a rank copies aside
// A late rank is delayed by fills of kDelayBytes in total, at most kMostDelays of them.
constexpr std::uint64_t kDelayBytes = 64 << 20;
constexpr std::uint64_t kMostDelays = 32;
constexpr Fill kPoison{FillKind::constant, 0xDB, 0, DType::fp32};

// Reserves seeds for `calls` fills and returns the first. No other work of this process uses them.
std::uint64_t fresh_seeds(std::uint64_t calls) {
  static std::atomic<std::uint64_t> made{1};
  return made.fetch_add(calls);
}

Span inner(const CollectiveMemory& memory, std::uint64_t bytes) {
  return memory.span().slice(kGuard, bytes);
}

}  // namespace

CollectiveWork::CollectiveWork(Team& team, CollectiveSession& session, const Collective& collective,
                               bool in_place, bool verified, const GraphUse& graph)
    : team_(team),
      session_(session),
      collective_(collective),
      in_place_(in_place),
      verified_(verified),
      graph_(graph),
      states_(static_cast<std::size_t>(team.local_size())) {
  check(collective, team.size());
}

double CollectiveWork::least_wire_bytes() const {
  const double others = team_.size() - 1;
  const auto chunk = static_cast<double>(collective_.count * size_of(collective_.dtype));
  // Reducing a chunk takes one message from each rank but one. all_reduce then distributes the
  // result, which takes as many again.
  if (collective_.kind == CollectiveKind::reduce_scatter) return others * chunk * team_.size();
  if (collective_.kind == CollectiveKind::all_reduce) return 2 * others * chunk;
  double bytes = 0;
  for (const Move& move : moves(collective_, team_.size())) {
    if (move.from != move.to) bytes += static_cast<double>(move.bytes);
  }
  return bytes;
}

Cost CollectiveWork::cost() const {
  const auto size = static_cast<double>(size_bytes(collective_, team_.size()));
  Cost cost;
  cost.wire_bytes = known_.wire_bytes > 0 ? known_.wire_bytes : least_wire_bytes();
  cost.more = {{kAlgorithmBytes, size},
               {kBusBytes, size * bus_factor(collective_.kind, team_.size())}};
  if (known_.busiest_wire_bytes > 0) cost.more.set(kBusiestWireBytes, known_.busiest_wire_bytes);
  if (known_.network_bytes <= 0) return cost;
  cost.more.set(kNetworkBytes, known_.network_bytes);
  cost.more.set(kLinkGbitPerS, known_.links_known ? known_.link_gbit_per_s : 0);
  return cost;
}

// Every rank makes the same number of allocations, even of 0 bytes: the engine's allocation may be
// a collective call.
void CollectiveWork::allocate(Rank& rank, RankState& own) {
  const std::uint64_t sent = send_bytes(collective_, rank.index, rank.size);
  const std::uint64_t received = recv_bytes(collective_, rank.index, rank.size);
  if (!in_place_) {
    own.send_memory = session_.allocate(rank, sent + 2 * kGuard);
    own.recv_memory = session_.allocate(rank, received + 2 * kGuard);
    own.buffers = {inner(*own.send_memory, sent), inner(*own.recv_memory, received)};
    return;
  }
  own.send_memory = session_.allocate(rank, std::max(sent, received) + 2 * kGuard);
  // The smaller buffer is a part of the larger one. A rank that has only one buffer has no offset.
  const bool both = sent > 0 && received > 0;
  const std::uint64_t offset =
      both && sent != received ? in_place_offset(collective_, rank.index) : 0;
  const Span whole = inner(*own.send_memory, std::max(sent, received));
  own.buffers.send = sent < received ? whole.slice(offset, sent) : whole;
  own.buffers.recv = received < sent ? whole.slice(offset, received) : whole;
}

std::uint64_t CollectiveWork::seed_of(std::uint64_t fills) const {
  return (known_.first_seed + fills) * static_cast<std::uint64_t>(team_.size());
}

// The contents of a rank's input for the given number of the fill.
Fill CollectiveWork::input(int rank, std::uint64_t fills) const {
  return call_input(collective_, team_.size(), rank, seed_of(fills));
}

// Poisons before it fills the input: in place, the input lies in the poisoned memory.
void CollectiveWork::fill(Rank& rank, RankState& own, Stream& stream) const {
  ++own.fills;
  stream.fill(own.send_memory->span(), kPoison);
  if (own.recv_memory != nullptr) stream.fill(own.recv_memory->span(), kPoison);
  if (own.buffers.send.bytes > 0) stream.fill(own.buffers.send, input(rank.index, own.fills));
}

void CollectiveWork::prepare(Rank& rank, const Placement& placement) {
  RankState& own = state(rank);
  rank.team.free_retired(rank);  // memory of earlier plans
  allocate(rank, own);
  const auto stream = rank.device.make_stream({placement.priority});
  fill(rank, own, *stream);
  stream->synchronize(kDeadline);
  own.plan = session_.plan(rank, collective_, own.buffers);
  own.enqueues.reserve(kMostEnqueues);
  // This gather is a barrier too: no rank may make a call before all buffers are filled.
  KnownByAllRanks known = learn(rank, own);
  if (rank.local == 0) known_ = std::move(known);
  if (graph_.launches > 0) capture_calls(rank, own, *stream);
}

// Makes one call before the capture, because a first call may load kernels or connect ranks, which
// must not be captured. In place, a second call would start from the result of the first; `checked`
// is therefore a graph of a single call.
void CollectiveWork::capture_calls(Rank& rank, RankState& own, Stream& stream) {
  if (const auto reason = session_.uncapturable()) throw Unavailable(reason->reason);
  own.plan->enqueue(stream);
  stream.synchronize(kDeadline);
  own.graph = capture(stream, [&] {
    for (int call = 0; call < graph_.calls; ++call) own.plan->enqueue(stream);
  });
  if (in_place_ && graph_.calls > 1) {
    own.checked = capture(stream, [&] { own.plan->enqueue(stream); });
  }
  const std::size_t largest = largest_graph(rank, *own.graph, kDeadline);
  if (rank.local == 0) graph_size_ = largest;
}

// A call over nodes copies, waits and signals for each of its messages or their chunks.
std::size_t CollectiveWork::operations() const {
  constexpr double kChunkBytes = 512 << 10;  // at least
  constexpr std::size_t kOfChunk = 4, kOfCall = 8;
  if (graph_.launches > 0) return static_cast<std::size_t>(graph_.launches) * graph_size_;
  if (known_.busiest_network_bytes <= 0) return 0;
  return kOfCall +
         kOfChunk * static_cast<std::size_t>(std::ceil(known_.busiest_network_bytes / kChunkBytes));
}

bool CollectiveWork::host_driven() const {
  return known_.host_driven || (graph_.launches > 0 && calls_queued(operations()) == 0);
}

int CollectiveWork::most_queued() const { return std::max(1, calls_queued(operations())); }

bool CollectiveWork::has_contents(const Rank& rank, const RankState& own) {
  return rank.device.has_contents(own.send_memory->span()) &&
         (own.recv_memory == nullptr || rank.device.has_contents(own.recv_memory->span()));
}

// Other groups of a divided team may have their first ranks in other processes, which count alike.
std::uint64_t CollectiveWork::first_seed() const {
  constexpr int kSeedBits = 32;
  return fresh_seeds(kFills) + (static_cast<std::uint64_t>(team_.whole_rank(0)) << kSeedBits);
}

CollectiveWork::KnownByAllRanks CollectiveWork::learn(Rank& rank, const RankState& own) const {
  const std::string mine =
      pack({fmt::format("{}", own.plan->wire_bytes()), has_contents(rank, own) ? "contents" : "",
            own.plan->host_driven() ? "host driven" : "", own.plan->algorithm(),
            rank.index == 0 ? std::to_string(first_seed()) : "",
            fmt::format("{}", own.plan->network_bytes()),
            fmt::format("{}", session_.network_gbit_per_s(rank))});
  return *rank.team.gather_as<KnownByAllRanks>(rank, mine, "the other ranks to have prepared",
                                               known_of, kDeadline);
}

CollectiveWork::KnownByAllRanks CollectiveWork::known_of(const std::vector<std::string>& all) {
  KnownByAllRanks known;
  const std::vector<std::string> first = unpack(all.front());
  known.algorithm = first.at(3);
  known.first_seed = std::stoull(first.at(4));
  for (const std::string& each : all) {
    const std::vector<std::string> fields = unpack(each);
    const double bytes = std::stod(fields.at(0));
    known.wire_bytes += bytes;
    known.busiest_wire_bytes = std::max(known.busiest_wire_bytes, bytes);
    const double network_bytes = std::stod(fields.at(5));
    known.network_bytes += network_bytes;
    known.busiest_network_bytes = std::max(known.busiest_network_bytes, network_bytes);
    const double gbit_per_s = std::stod(fields.at(6));
    known.link_gbit_per_s += gbit_per_s;
    known.links_known = known.links_known && gbit_per_s > 0;
    known.has_contents = known.has_contents && !fields.at(1).empty();
    known.host_driven = known.host_driven || !fields.at(2).empty();
  }
  return known;
}

void CollectiveWork::enqueue(Rank& rank, Stream& stream) {
  RankState& own = state(rank);
  Machine& machine = team_.machine();
  const double begin = machine.now();
  if (own.graph == nullptr) own.plan->enqueue(stream);
  for (int launch = 0; launch < graph_.launches; ++launch) own.graph->launch(stream);
  const double seconds = (machine.now() - begin) / calls();
  if (own.enqueues.size() < kMostEnqueues) own.enqueues.push_back(seconds);
}

void CollectiveWork::require(Rank& rank, const Span& span, const Fill& fill,
                             const char* what) const {
  if (span.bytes == 0) return;
  const auto difference = rank.device.check(span, fill);
  if (!difference) return;
  const bool bytes = fill.kind == FillKind::pattern || fill.kind == FillKind::constant;
  const std::size_t unit = bytes ? 1 : size_of(fill.dtype);
  throw Mismatch(fmt::format("{} on rank {}: {} of {} {} of {} are wrong, the first at byte {}",
                             duet::name(collective_.kind), rank.index, difference->count,
                             span.bytes / unit, bytes ? "bytes" : "elements", what,
                             difference->first_offset));
}

void CollectiveWork::require_guards(Rank& rank, const CollectiveMemory& memory,
                                    std::uint64_t bytes) const {
  require(rank, memory.span().slice(0, kGuard), kPoison, "what lies before a buffer");
  require(rank, memory.span().slice(kGuard + bytes, kGuard), kPoison, "what lies behind a buffer");
}

void CollectiveWork::require_results(Rank& rank, const Span& received, std::uint64_t fills) const {
  for (const ReceivedPart& part :
       call_result(collective_, rank.size, rank.index, seed_of(fills), received.bytes)) {
    require(rank, received.slice(part.offset, part.bytes), part.fill, "what it received");
  }
}

void CollectiveWork::require_rest(Rank& rank, const RankState& own) const {
  const std::uint64_t most = std::max(own.buffers.send.bytes, own.buffers.recv.bytes);
  require_guards(rank, *own.send_memory, in_place_ ? most : own.buffers.send.bytes);
  if (in_place_) return;
  require_guards(rank, *own.recv_memory, own.buffers.recv.bytes);
  require(rank, own.buffers.send, input(rank.index, own.fills), "what it sent");
}

// Whether a call that follows another without new input leaves the same result.
bool CollectiveWork::repeatable() const {
  const bool overwrites_input =
      reduces(collective_.kind) || collective_.kind == CollectiveKind::all_to_all;
  return !in_place_ || !overwrites_input;
}

void CollectiveWork::renew(Rank& rank) {
  if (!verified_ || !repeatable()) return;  // verify() makes calls of its own
  RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  fill(rank, own, *stream);
  stream->synchronize(kDeadline);
  own.renewed = true;
}

void CollectiveWork::call_once(RankState& own, Stream& stream) const {
  if (own.graph == nullptr) return own.plan->enqueue(stream);
  (own.checked != nullptr ? own.checked : own.graph)->launch(stream);
}

// Delays some ranks before a checked call: none before call 0, one rank before call 1, all ranks
// but one before call 2, and another single rank before call 3.
void CollectiveWork::delay(const Rank& rank, const RankState& own, int call, Stream& stream) const {
  const auto turn = static_cast<int>(known_.first_seed % static_cast<std::uint64_t>(rank.size));
  const bool chosen = rank.index == (turn + call) % rank.size;
  if (call == 0 || chosen == (call == 2)) return;
  const Span span = own.send_memory->span();
  const std::uint64_t times = std::clamp<std::uint64_t>(kDelayBytes / span.bytes, 1, kMostDelays);
  for (std::uint64_t i = 0; i < times; ++i) stream.fill(span, kPoison);
}

// Allocates memory for the results of all checked calls; nothing where they exceed kMostAside.
void CollectiveWork::allocate_aside(Rank& rank, RankState& own) const {
  if (own.buffers.recv.bytes * kCheckedCalls > kMostAside) return;
  for (int call = 0; call < kCheckedCalls; ++call) {
    own.aside.push_back(rank.device.allocate(own.buffers.recv.bytes));
  }
}

std::optional<Skipped> CollectiveWork::verify(Rank& rank) {
  if (!verified_) return Skipped{kNotToBeVerified};
  // Groups of a divided team may differ, and go on together.
  const std::string lack = rank.team.first_reason(
      rank,
      known_.has_contents ? "" : "buffers of this size have no contents on a simulated machine",
      "the other ranks to say what their buffers hold", kDeadline);
  if (!lack.empty()) return Skipped{lack};
  RankState& own = state(rank);
  if (own.renewed && has_contents(rank, own)) require_results(rank, own.buffers.recv, own.fills);
  const auto stream = rank.device.make_stream();
  allocate_aside(rank, own);
  rank.team.barrier("the other ranks to have ended", kDeadline);
  own.plan->poison_staging();
  rank.team.barrier("the other ranks to have poisoned their staging memory", kDeadline);
  const std::uint64_t first = own.fills + 1;
  bool has_results = true;
  for (int call = 0; call < kCheckedCalls; ++call) {
    delay(rank, own, call, *stream);
    fill(rank, own, *stream);
    call_once(own, *stream);
    if (!own.aside.empty()) {
      const Span to = own.aside[static_cast<std::size_t>(call)].span();
      if (to.bytes > 0) stream->copy({to, own.buffers.recv, Executor::kernel, {}});
      continue;
    }
    stream->synchronize(kDeadline);
    has_results = has_results && has_contents(rank, own);
    if (has_results) require_results(rank, own.buffers.recv, own.fills);
  }
  stream->synchronize(kDeadline);
  for (std::size_t call = 0; call < own.aside.size(); ++call) {
    const Span& span = own.aside[call].span();
    has_results = has_results && has_contents(rank, own) &&
                  (span.bytes == 0 || rank.device.has_contents(span));
    if (has_results) require_results(rank, span, first + call);
  }
  if (!has_results) {
    return Skipped{
        "what was sent passed through memory that has no contents on a simulated machine"};
  }
  require_rest(rank, own);
  return {};
}

void CollectiveWork::release(Rank& rank) noexcept {
  RankState& own = state(rank);
  own.checked.reset();
  own.graph.reset();
  own.plan.reset();
  own.aside.clear();
  own.recv_memory.reset();
  own.send_memory.reset();
}

std::vector<double> CollectiveWork::enqueue_seconds() const {
  std::vector<std::string> medians;
  for (const RankState& each : states_) {
    std::vector<double> sorted = each.enqueues;
    std::sort(sorted.begin(), sorted.end());
    medians.push_back(fmt::format("{}", sorted.empty() ? 0.0 : quantile(sorted, 0.5)));
  }
  std::vector<std::string> processes{pack(medians)};
  if (team_.processes() != nullptr) {
    processes = team_.processes()->gather_all(
        processes.front(), "all processes to send their enqueue times", kDeadline);
  }
  std::vector<double> all;
  for (const std::string& process : processes) {
    for (const std::string& median : unpack(process)) all.push_back(std::stod(median));
  }
  return all;
}

}  // namespace duet
