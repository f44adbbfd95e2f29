#include "collectives/schedule/algorithms/node_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/schedule/algorithms/staging_slots.h"

namespace duet {
namespace {

// As many as a kernel's all_gather of large sizes within a node.
constexpr int kMovingBlocks = 32;

constexpr std::uint64_t kStaggeredBytes = 1 << 20;
constexpr std::uint64_t kCopyGrain = 4 << 10;

}  // namespace

RankSchedule schedule_over_nodes(const AlgorithmInput& input, const Algorithm* chosen) {
  const CollectiveKind kind = input.collective.kind;
  const bool in_halves = kind == CollectiveKind::all_reduce || kind == CollectiveKind::broadcast;
  if (chosen != nullptr && (!in_halves || chosen->half == Half::none)) {
    return chosen->schedule(input);
  }
  const auto half = [&](Half which, const Algorithm& usual) {
    return (chosen != nullptr && chosen->half == which ? *chosen : usual).schedule(input);
  };
  if (in_halves) {
    RankSchedule first =
        half(Half::first, kind == CollectiveKind::all_reduce ? nodes_reduction() : nodes_spread());
    const RankSchedule second = half(Half::second, nodes_gather());
    first.algorithm += "; then " + second.algorithm;
    return in_a_row(std::move(first), second);
  }
  if (kind == CollectiveKind::reduce_scatter) return nodes_reduction().schedule(input);
  if (kind == CollectiveKind::all_to_all) return nodes_exchange().schedule(input);
  if (kind == CollectiveKind::neighbor_exchange) return nodes_neighbors().schedule(input);
  return nodes_gather().schedule(input);
}

NodeSchedule::NodeSchedule(const AlgorithmInput& input)
    : input_(input), place_(*input.nodes, input.rank) {
  schedule_.rank = input.rank;
  schedule_.ranks = input.ranks;
  schedule_.node = input.nodes->by_node()->at(index_of(place_.node));
}

int NodeSchedule::peer(int step) const {
  return place_.map.rank(place_.node, (place_.local + step) % place_.node_size());
}

int NodeSchedule::add_group(SemaphoreGroup group) {
  schedule_.semaphores.push_back(std::move(group));
  return static_cast<int>(schedule_.semaphores.size()) - 1;
}

void NodeSchedule::handshake(std::vector<SemaphoreAt> signals, std::vector<SemaphoreAt> waits) {
  Step signalling, waiting;
  signalling.signals = std::move(signals);
  waiting.waits = std::move(waits);
  if (!signalling.signals.empty()) writer_.add(std::move(signalling));
  if (!waiting.waits.empty()) writer_.add(std::move(waiting));
}

void NodeSchedule::use_handshakes() {
  ready_ = add_group({"ready"});
  done_ = add_group({"done"});
  schedule_.pushes_to_recv = true;
}

void NodeSchedule::signal_ready() {
  std::vector<SemaphoreAt> signals;
  for (int step = 1; step < place_.node_size(); ++step) {
    signals.push_back(ready(peer(step), rank()));
  }
  handshake(std::move(signals), {});
}

void NodeSchedule::await_ready() {
  std::vector<SemaphoreAt> waits;
  for (int step = 1; step < place_.node_size(); ++step) {
    waits.push_back(ready(rank(), peer(step)));
  }
  handshake({}, std::move(waits));
}

void NodeSchedule::end_writes() {
  std::vector<SemaphoreAt> signals, waits;
  for (int step = 1; step < place_.node_size(); ++step) {
    signals.push_back(done(peer(step), rank()));
    waits.push_back(done(rank(), peer(step)));
  }
  handshake(std::move(signals), std::move(waits));
}

void NodeSchedule::use_wire(std::vector<StepMessage> messages, bool to_incoming) {
  WireMessages wire;
  for (const auto& [name, group] :
       {std::pair{"go", &wire.go}, {"gone", &wire.gone}, {"come", &wire.come}}) {
    SemaphoreGroup words{name, static_cast<int>(messages.size())};
    words.for_every_rank = false;
    words.of_wire = true;
    *group = add_group(words);
  }
  wire.messages = std::move(messages);
  wire.to_incoming = to_incoming;
  schedule_.wires.push_back(std::move(wire));
}

void NodeSchedule::await_messages() {
  std::vector<SemaphoreAt> arrivals;
  for (int i = 0; i < static_cast<int>(messages().size()); ++i) arrivals.push_back(come(i));
  handshake({}, std::move(arrivals));
}

void NodeSchedule::call_wire(WireCall::Kind kind, int message) {
  Step step;
  step.wire = WireCall{kind, 0, message};
  writer_.add(std::move(step));
}

NodeSlots::NodeSlots(NodeSchedule& to, int count, std::uint64_t bytes)
    : map_(to.place().map),
      count_(count),
      full_(to.add_group({"full", count})),
      free_(to.add_group({"free", count, 1})),
      bytes_(slot_bytes_for(bytes)) {
  to.schedule().slot_bytes = index_of(count * (to.place().node_size() - 1)) * bytes_;
}

Place NodeSlots::at(int owner, int source, int slot, std::uint64_t bytes) const {
  const int size = map_.node_size();
  const int row = (map_.local(source) - map_.local(owner) + size - 1) % size;
  return {BufferRole::slots, owner, index_of(row * count_ + slot) * bytes_, bytes};
}

namespace {

// A move has a copy for each further rank of the node.
int side_lanes_for(const AlgorithmInput& input, std::size_t moves) {
  const std::size_t copies = moves * index_of(input.nodes->node_size() - 1);
  if (input.kernel_moves || copies == 0) return 0;
  return static_cast<int>(std::min(index_of(input.copying.count), copies)) - 1;
}

}  // namespace

NodeMoves::NodeMoves(NodeSchedule& to, std::size_t moves)
    : to_(to),
      side_lanes_(side_lanes_for(to.input(), moves)),
      order_(to.writer(), 0, side_lanes_ + 1, true) {}

void NodeMoves::begin() {
  if (!to_.input().kernel_moves) return;
  Step step;
  step.kernel.blocks = kMovingBlocks;
  kernel_ = to_.writer().add(std::move(step));
}

std::string NodeMoves::text(const AlgorithmInput& input) {
  if (input.kernel_moves) return fmt::format("a kernel of {} blocks in the node", kMovingBlocks);
  const int lanes = input.copying.count;
  return fmt::format("pushes on {} {} in the node", lanes, lanes == 1 ? "lane" : "lanes");
}

void NodeMoves::add(NodeMove move) {
  if (move.source.bytes == 0 && move.waits.empty() && move.signals.empty()) return;
  if (kernel_ >= 0) return add_to_kernel(std::move(move));
  const std::vector<StepCopy> copies = copies_of(move);
  const std::size_t steps = copies.empty() ? 1 : copies.size();
  if (steps > 1 && !move.waits.empty()) order_.set_needed();  // the first copy waits for all
  for (std::size_t i = 0; i < steps; ++i) {
    Step step;
    if (i == 0) step.waits = std::move(move.waits);
    if (i < copies.size()) step.copies.push_back(copies[i]);
    if (i + 1 == steps) step.signals = std::move(move.signals);
    order_.add(std::move(step), 1);
  }
  any_ = true;
}

void NodeMoves::add_to_kernel(NodeMove move) {
  StepItem item;
  if (move.source.bytes > 0) {
    item.sources = {move.source};
    item.targets = std::move(move.targets);
  }
  item.waits = std::move(move.waits);
  item.signals = std::move(move.signals);
  to_.schedule().steps[index_of(kernel_)].kernel.items.push_back(std::move(item));
}

// Equal copies that begin together end together where lanes share a link, and nothing then hides
// what lies between them and the next ones. So the second half of the very first copy goes last.
std::vector<StepCopy> NodeMoves::copies_of(const NodeMove& move) const {
  std::vector<StepCopy> copies;
  if (move.source.bytes == 0) return copies;
  for (const Place& to : move.targets) copies.push_back({to, move.source, Executor::dma, {}});
  const bool first = !any_ && to_.input().copying.in_order && copies.size() > 1;
  if (!first || move.source.bytes < kStaggeredBytes) return copies;
  const std::uint64_t half = move.source.bytes / 2 / kCopyGrain * kCopyGrain;
  const auto part = [&](std::uint64_t begin, std::uint64_t bytes) {
    StepCopy copy = copies.front();
    for (Place* place : {&copy.to, &copy.from}) {
      place->offset += begin;
      place->bytes = bytes;
    }
    return copy;
  };
  const StepCopy first_half = part(0, half), second_half = part(half, move.source.bytes - half);
  copies.front() = first_half;
  copies.push_back(second_half);
  return copies;
}

}  // namespace duet
