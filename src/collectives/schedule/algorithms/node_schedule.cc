#include "collectives/schedule/algorithms/node_schedule.h"

#include <utility>

#include "collectives/schedule/local_copy.h"

namespace duet {

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
  if (kind == CollectiveKind::all_to_all || kind == CollectiveKind::all_to_all_v)
    return nodes_exchange().schedule(input);
  if (kind == CollectiveKind::neighbor_exchange) return nodes_neighbors().schedule(input);
  return nodes_gather().schedule(input);
}

NodeSchedule::NodeSchedule(const AlgorithmInput& input)
    : input_(input), place_(*input.nodes, input.rank) {
  schedule_.rank = input.rank;
  schedule_.ranks = input.ranks;
  schedule_.node = input.nodes->by_node()->at(index_of(place_.node));
  for (int step = 1; step < place_.node_size(); ++step) {
    peers_.push_back(place_.map.rank(place_.node, (place_.local + step) % place_.node_size()));
  }
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

void NodeSchedule::copy_local(int lane, const Place& to, const Place& from, bool aligned) {
  Step step;
  step.lane = lane;
  const KernelShape shape = shape_of(choose_local_copy(from.bytes, aligned, false));
  step.copies = {{to, from, Executor::kernel, shape}};
  writer_.add(std::move(step));
}

void NodeSchedule::use_handshakes() {
  ready_ = add_group({"ready"});
  done_ = add_group({"done"});
  schedule_.pushes_to_recv = true;
}

void NodeSchedule::signal_ready() {
  handshake(of_peers([this](int peer) { return ready(peer, rank()); }), {});
}

void NodeSchedule::await_ready() {
  handshake({}, of_peers([this](int peer) { return ready(rank(), peer); }));
}

void NodeSchedule::signal_done() {
  handshake(of_peers([this](int peer) { return done(peer, rank()); }), {});
}

void NodeSchedule::await_done() {
  handshake({}, of_peers([this](int peer) { return done(rank(), peer); }));
}

StepMessage NodeSchedule::column_message(int distance) const {
  StepMessage message;
  message.to = place_.map.rank(place_.node_after(distance), place_.local);
  message.from = place_.map.rank(place_.node_before(distance), place_.local);
  return message;
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

void NodeSchedule::send_all() {
  for (int i = 0; i < message_count(); ++i) send(i);
}

std::vector<SemaphoreAt> NodeSchedule::all_come() const {
  std::vector<SemaphoreAt> all;
  for (int i = 0; i < message_count(); ++i) all.push_back(come(i));
  return all;
}

void NodeSchedule::call_wire(WireCall::Kind kind, int message) {
  Step step;
  step.wire = WireCall{kind, 0, message};
  writer_.add(std::move(step));
}

}  // namespace duet
