// neighbor_exchange over nodes: chunks for ranks of the same node are pushed, the network carries
// the others. Rails reach their own column alone, so a chunk for local index j of another node goes
// there from local index j of this node:
//
//   rank i of node a            rank j of node a              rank j of node b, next to (a, i)
//   last chunk --push--> slot
//              --full--------> waits --go--> message -------> first chunk, come
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/schedule/algorithms/neighbor_pushes.h"
#include "collectives/schedule/algorithms/node_schedule.h"

namespace duet {
namespace {

// What ranks of one local index, on every node, have for ranks of this column that are so many
// nodes further: a message of each rank of the column, of no bytes from nodes where that rank's
// neighbour is another one.
struct ColumnRoute {
  Direction direction;
  int distance = 0, source = 0;
};

class NodesNeighbors {
 public:
  explicit NodesNeighbors(const AlgorithmInput& input)
      : input_(input),
        to_(input),
        place_(to_.place()),
        chunk_(move_of(input, input.rank, Direction::on).bytes),
        asks_(!input.collective.neighbors.alternating) {
    find_routes();
    to_.schedule().pushes_to_recv = true;
    come_ = add_group("come", 2);
    full_ = add_group("full", slots());
    if (asks_) {
      ready_ = add_group("ready", 2);
      free_ = add_group("free", 2);
      to_.schedule().semaphores.back().initial = 1;
    }
    to_.schedule().slot_bytes = index_of(slots()) * chunk_;
    to_.use_wire(messages());
  }

  // The wire begins, and whoever may be waited for is, before what is sent is computed.
  RankSchedule schedule() {
    const Executor executor = input_.kernel_moves ? Executor::kernel : Executor::dma;
    to_.schedule().algorithm =
        fmt::format("pushes by {} in the node, {}", name(executor), kNetworkText);
    ScheduleWriter& writer = to_.writer();
    const int forwarding = std::any_of(routes_.begin(), routes_.end(),
                                       [this](const ColumnRoute& each) { return forwards(each); });
    to_.begin_wire();
    writer.fork(kForwarding, forwarding);
    if (asks_) signal_ready();
    add_compute(writer, input_, ComputePart::before);
    send_own();
    push(executor);
    forward();
    for (int i = 0; i < static_cast<int>(routes_.size()); ++i) to_.send(i);
    add_compute(writer, input_, ComputePart::beside);
    if (executor == Executor::dma) writer.join(1, 2);
    if (forwarding > 0) writer.join(kForwarding, forwarding);
    to_.handshake({}, arrivals());
    to_.end_wire();
    if (asks_) free_slots();
    return to_.take();
  }

 private:
  static constexpr int kForwarding = 3;  // the lane that waits for slots; 1 and 2 push

  int add_group(const char* name, int count) {
    SemaphoreGroup group{name, count};
    group.for_every_rank = false;
    return to_.add_group(std::move(group));
  }

  bool is_of_node(int rank) const { return place_.map.node(rank) == place_.node; }
  bool is_other_of_node(int rank) const { return rank != input_.rank && is_of_node(rank); }
  Move own(Direction direction) const { return move_of(input_, input_.rank, direction); }

  // Where the rank of that node with the route's local index sends to.
  Move move_on(const ColumnRoute& route, int node) const {
    return move_of(input_, place_.map.rank(node, route.source), route.direction);
  }
  bool leads(const ColumnRoute& route, int node) const {
    const int to = move_on(route, node).to;
    return place_.map.local(to) == place_.local &&
           place_.map.node(to) == (node + route.distance) % place_.nodes();
  }

  // Those of all nodes, since all ranks of a column have as many messages.
  void find_routes() {
    for (const Direction direction : kDirections) {
      for (int distance = 1; chunk_ > 0 && distance < place_.nodes(); ++distance) {
        for (int source = 0; source < place_.node_size(); ++source) {
          const ColumnRoute route{direction, distance, source};
          int node = 0;
          while (node < place_.nodes() && !leads(route, node)) ++node;
          if (node < place_.nodes()) routes_.push_back(route);
        }
      }
    }
  }

  // At each rank one for each rank of its node and direction.
  int slots() const { return 2 * place_.node_size(); }
  static int slot_number(int source, Direction direction) {
    return 2 * source + static_cast<int>(direction);
  }
  Place slot(int owner, int source, Direction direction) const {
    return {BufferRole::slots, owner, index_of(slot_number(source, direction)) * chunk_, chunk_};
  }
  SemaphoreAt at(int group, int owner, Direction direction) const {
    return {group, owner, 0, static_cast<int>(direction)};
  }
  SemaphoreAt full(int owner, int source, Direction direction) const {
    return {full_, owner, 0, slot_number(source, direction)};
  }

  std::vector<StepMessage> messages() const {
    std::vector<StepMessage> all;
    for (const ColumnRoute& route : routes_) {
      StepMessage message;
      message.to = to_.column(place_.node_after(route.distance));
      message.from = to_.column(place_.node_before(route.distance));
      if (leads(route, place_.node)) {
        const Move move = move_on(route, place_.node);
        const Place source = route.source == place_.local
                                 ? source_of(move)
                                 : slot(input_.rank, route.source, route.direction);
        message.pieces.push_back({source, target_of(move)});
        message.staged = forwards(route) || input_.collective.neighbors.computes;
      }
      if (leads(route, place_.node_before(route.distance))) message.arrivals.push_back(chunk_);
      all.push_back(std::move(message));
    }
    return all;
  }

  bool forwards(const ColumnRoute& route) const {
    return leads(route, place_.node) && route.source != place_.local;
  }

  // What other ranks of the node have for this column: enqueued behind the rank's own pushes, since
  // lanes may share a queue.
  void forward() {
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      if (!forwards(routes_[i])) continue;
      Step step;
      step.lane = kForwarding;
      step.waits = {full(input_.rank, routes_[i].source, routes_[i].direction)};
      step.signals = {to_.go(static_cast<int>(i))};
      to_.writer().add(std::move(step));
    }
  }

  void signal_ready() {
    std::vector<SemaphoreAt> signals;
    for (const Direction each : kDirections) {
      const int from = sender_of(input_, input_.rank, each);
      if (is_other_of_node(from)) signals.push_back(at(ready_, from, each));
    }
    to_.handshake(std::move(signals), {});
  }

  // What goes from this rank to its own column, once it has been computed.
  void send_own() {
    std::vector<SemaphoreAt> signals;
    for (int i = 0; i < static_cast<int>(routes_.size()); ++i) {
      if (to_.messages()[index_of(i)].staged && !forwards(routes_[index_of(i)])) {
        signals.push_back(to_.go(i));
      }
    }
    to_.handshake(std::move(signals), {});
  }

  void push(Executor executor) {
    const bool by_lanes = executor == Executor::dma;
    if (by_lanes) to_.writer().fork(1, 2);
    for (const Direction each : kDirections) {
      const Move move = own(each);
      const bool inside = is_of_node(move.to);
      const int local = place_.map.local(move.to);
      if (!inside && (local == place_.local || chunk_ == 0)) continue;
      const int by = inside ? move.to : place_.map.rank(place_.node, local);  // who sends it on
      Step step;
      step.lane = by_lanes ? 1 + static_cast<int>(each) : 0;
      const bool itself = move.to == input_.rank;
      if (asks_ && !itself) step.waits = {at(inside ? ready_ : free_, input_.rank, each)};
      const Place target = inside ? target_of(move) : slot(by, place_.local, each);
      if (chunk_ > 0) step.copies.push_back({target, source_of(move), executor, {}});
      if (!itself) step.signals = {inside ? at(come_, by, each) : full(by, place_.local, each)};
      to_.writer().add(std::move(step));
    }
  }

  std::vector<SemaphoreAt> arrivals() const {
    std::vector<SemaphoreAt> waits;
    for (const Direction each : {Direction::on, Direction::back}) {
      if (is_other_of_node(sender_of(input_, input_.rank, each))) {
        waits.push_back(at(come_, input_.rank, each));
      }
    }
    for (int i = 0; i < static_cast<int>(routes_.size()); ++i) waits.push_back(to_.come(i));
    return waits;
  }

  // The slots whose messages have gone.
  void free_slots() {
    std::vector<SemaphoreAt> signals;
    for (const ColumnRoute& route : routes_) {
      const int source = place_.map.rank(place_.node, route.source);
      if (forwards(route)) signals.push_back(at(free_, source, route.direction));
    }
    to_.handshake(std::move(signals), {});
  }

  const AlgorithmInput& input_;
  NodeSchedule to_;
  const NodePlace& place_;
  const std::uint64_t chunk_;  // bytes
  const bool asks_;            // before it writes
  std::vector<ColumnRoute> routes_;
  int come_ = 0, full_ = 0, ready_ = 0, free_ = 0;
};

}  // namespace

Algorithm nodes_neighbors() {
  return {"nodes-neighbors",
          [](const AlgorithmInput& in) {
            return in.collective.kind == CollectiveKind::neighbor_exchange;
          },
          [](const AlgorithmInput& in) { return NodesNeighbors(in).schedule(); },
          Half::none,
          1,
          true};
}

}  // namespace duet
