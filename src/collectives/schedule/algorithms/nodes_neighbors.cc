// neighbor_exchange over nodes: chunks for ranks of the same node are pushed, the network carries
// the others. Rails reach their own column alone, so a chunk for local index j of another node goes
// there from local index j of this node:
//
//   rank i of node a            rank j of node a              rank j of node b, next to (a, i)
//   last chunk --push--> slot
//              --full--------> waits --go--> message -------> first chunk, come
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collectives/schedule/algorithms/neighbor_pushes.h"
#include "collectives/schedule/algorithms/node_schedule.h"

namespace duet {
namespace {

// What ranks of one local index, on every node, have for ranks of this column that are so many
// nodes further: a message of each rank of the column, of no bytes from nodes where that rank's
// neighbour is another one.
struct ColumnRoute {
  Direction direction = Direction::back;
  int distance = 0, source = 0;
  std::optional<Move> goes = {};  // that this rank sends on
  bool comes = false;             // bytes come to this rank
};

class NodesNeighbors : public NodeSchedule {
 public:
  explicit NodesNeighbors(const AlgorithmInput& input)
      : NodeSchedule(input),
        chunk_(move_of(input, input.rank, Direction::on).bytes),
        asks_(!input.collective.neighbors.alternating) {
    find_routes();
    made().pushes_to_recv = true;
    come_ = add_words("come", 2);
    full_ = add_words("full", slots());
    if (asks_) {
      ready_ = add_words("ready", 2);
      free_ = add_words("free", 2);
      made().semaphores.back().initial = 1;
    }
    made().slot_bytes = index_of(slots()) * chunk_;
    use_wire(all_messages());
  }

  // The wire begins, and whoever may be waited for is, before what is sent is computed.
  RankSchedule schedule() {
    const Executor executor = input().kernel_moves ? Executor::kernel : Executor::dma;
    made().algorithm = fmt::format("pushes by {} in the node, {}", name(executor), kNetworkText);
    const bool forwarding = std::any_of(routes_.begin(), routes_.end(),
                                        [this](const ColumnRoute& each) { return forwards(each); });
    begin_wire();
    writer().fork(kForwarding, forwarding ? 1 : 0);
    if (asks_) signal_senders();
    add_compute(writer(), input(), ComputePart::before);
    send_own();
    push(executor);
    forward();
    send_all();
    add_compute(writer(), input(), ComputePart::beside);
    if (executor == Executor::dma) writer().join(1, 2);
    if (forwarding) writer().join(kForwarding, 1);
    handshake({}, arrivals());
    end_wire();
    if (asks_) free_slots();
    return take();
  }

 private:
  static constexpr int kForwarding = 3;  // the lane that waits for slots; 1 and 2 push

  int add_words(const char* name, int count) {
    SemaphoreGroup group{name, count};
    group.for_every_rank = false;
    return add_group(std::move(group));
  }

  bool is_of_node(int one) const { return place().map.node(one) == place().node; }
  bool is_other_of_node(int one) const { return one != rank() && is_of_node(one); }

  // Those of all nodes, since all ranks of a column have as many messages.
  void find_routes() {
    std::map<std::tuple<Direction, int, int>, ColumnRoute> routes;
    for (int from = 0; chunk_ > 0 && from < input().ranks; ++from) {
      for (const Direction direction : kDirections) {
        const Move move = move_of(input(), from, direction);
        const int node = place().map.node(from), source = place().map.local(from);
        const int distance = (place().map.node(move.to) - node + place().nodes()) % place().nodes();
        if (place().map.local(move.to) != place().local || distance == 0) continue;
        ColumnRoute& route = routes[{direction, distance, source}];
        route.direction = direction;
        route.distance = distance;
        route.source = source;
        if (node == place().node) route.goes = move;
        route.comes = route.comes || move.to == rank();
      }
    }
    for (const auto& [key, route] : routes) routes_.push_back(route);
  }

  // At each rank one for each rank of its node and direction.
  int slots() const { return 2 * place().node_size(); }
  static int slot_number(int source, Direction direction) {
    return 2 * source + static_cast<int>(direction);
  }
  Place slot(int owner, int source, Direction direction) const {
    return {BufferRole::slots, owner, index_of(slot_number(source, direction)) * chunk_, chunk_};
  }
  SemaphoreAt full(int owner, int source, Direction direction) const {
    return {full_, owner, 0, slot_number(source, direction)};
  }

  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (const ColumnRoute& route : routes_) {
      StepMessage message = column_message(route.distance);
      if (route.goes) {
        const Place source =
            forwards(route) ? slot(rank(), route.source, route.direction) : source_of(*route.goes);
        message.pieces.push_back({source, target_of(*route.goes)});
        message.staged = forwards(route) || input().collective.neighbors.computes;
      }
      if (route.comes) message.arrivals.push_back(chunk_);
      all.push_back(std::move(message));
    }
    return all;
  }

  bool forwards(const ColumnRoute& route) const {
    return route.goes && route.source != place().local;
  }

  // What other ranks of the node have for this column: enqueued behind the rank's own pushes, since
  // lanes may share a queue.
  void forward() {
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      if (!forwards(routes_[i])) continue;
      Step step;
      step.lane = kForwarding;
      step.waits = {full(rank(), routes_[i].source, routes_[i].direction)};
      step.signals = {go(static_cast<int>(i))};
      writer().add(std::move(step));
    }
  }

  void signal_senders() {
    std::vector<SemaphoreAt> signals;
    for (const Direction each : kDirections) {
      const int from = sender_of(input(), rank(), each);
      if (is_other_of_node(from)) signals.push_back(of_direction(ready_, from, each));
    }
    handshake(std::move(signals), {});
  }

  // What goes from this rank to its own column, once it has been computed.
  void send_own() {
    std::vector<SemaphoreAt> signals;
    for (int i = 0; i < static_cast<int>(routes_.size()); ++i) {
      if (messages()[index_of(i)].staged && !forwards(routes_[index_of(i)])) {
        signals.push_back(go(i));
      }
    }
    handshake(std::move(signals), {});
  }

  void push(Executor executor) {
    const bool by_lanes = executor == Executor::dma;
    if (by_lanes) writer().fork(1, 2);
    for (const Direction each : kDirections) {
      const Move move = move_of(input(), rank(), each);
      const bool inside = is_of_node(move.to);
      const int local = place().map.local(move.to);
      if (!inside && (local == place().local || chunk_ == 0)) continue;
      const int by = inside ? move.to : place().map.rank(place().node, local);  // who sends it on
      Step step;
      step.lane = by_lanes ? 1 + static_cast<int>(each) : 0;
      const bool itself = move.to == rank();
      if (asks_ && !itself) step.waits = {of_direction(inside ? ready_ : free_, rank(), each)};
      const Place target = inside ? target_of(move) : slot(by, place().local, each);
      if (chunk_ > 0) step.copies.push_back({target, source_of(move), executor, {}});
      if (!itself)
        step.signals = {inside ? of_direction(come_, by, each) : full(by, place().local, each)};
      writer().add(std::move(step));
    }
  }

  std::vector<SemaphoreAt> arrivals() const {
    std::vector<SemaphoreAt> waits;
    for (const Direction each : {Direction::on, Direction::back}) {
      if (is_other_of_node(sender_of(input(), rank(), each))) {
        waits.push_back(of_direction(come_, rank(), each));
      }
    }
    for (const SemaphoreAt& each : all_come()) waits.push_back(each);
    return waits;
  }

  // The slots whose messages have gone.
  void free_slots() {
    std::vector<SemaphoreAt> signals;
    for (const ColumnRoute& route : routes_) {
      const int source = place().map.rank(place().node, route.source);
      if (forwards(route)) signals.push_back(of_direction(free_, source, route.direction));
    }
    handshake(std::move(signals), {});
  }

  const std::uint64_t chunk_;  // bytes
  const bool asks_;            // before it writes
  std::vector<ColumnRoute> routes_;
  int come_ = 0, full_ = 0, ready_ = 0, free_ = 0;
};

}  // namespace

Algorithm nodes_neighbors() {
  return {"nodes-neighbors", is_of<CollectiveKind::neighbor_exchange>, made_by<NodesNeighbors>,
          Half::none, true};
}

}  // namespace duet
