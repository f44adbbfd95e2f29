#include "halo/peer/nodes_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace duet {
namespace {

constexpr CopyLanes kPushing{3, false}, kForwarding{1, true};
constexpr int kBoth = 2;  // sides, and parities

SideOfRank opposite(SideOfRank side) {
  return side == SideOfRank::above ? SideOfRank::below : SideOfRank::above;
}

}  // namespace

NodesPlan::NodesPlan(NodeRank& rank, const HaloTask& task, Executor executor,
                     const MakeWire& make_wire, Watchdog& watchdog)
    : grid_(task.grid),
      overlap_(task.overlap),
      executor_(executor),
      parts_(rank.whole, task),
      lanes_(rank.whole.device, kPushing),
      forward_(rank.whole.device, kForwarding),
      fields_(
          rank.in_node, [&] { return rank.whole.device.allocate(kBoth * shape().bytes()); },
          "the fields of the node's other ranks"),
      slots_(
          rank.in_node,
          [&] {
            const auto ranks = static_cast<std::size_t>(rank.node_size());
            return rank.whole.device.allocate_coherent(ranks * kBoth * kBoth * shape().row_bytes());
          },
          "the slots of the node's other ranks"),
      semaphores_(rank.in_node, kBoth * kBoth * (1 + rank.node_size())),
      watched_(watchdog, semaphores_) {
  find_routes(rank);
  for (const int parity : {0, 1}) {
    exchanges_[parity].wire = make_wire(rank, traffic(rank, parity));
    plan_pushes(rank, parity);
    plan_messages(rank, parity);
  }
}

// A grid of one rank is a ring of every rank by itself.
int NodesPlan::neighbour(int rank, SideOfRank side) const {
  if (grid_.ranks == 1) return rank;
  return (rank + (side == SideOfRank::above ? grid_.ranks - 1 : 1)) % grid_.ranks;
}

FieldShape NodesPlan::shape_of_rank(int rank) const {
  return {grid_.nx, rows_of(grid_, grid_.ranks == 1 ? 0 : rank).count};
}

bool NodesPlan::leads(const NodeRank& rank, const Route& route, int node) const {
  const int to = neighbour(rank.map.rank(node, route.source), route.side);
  return rank.map.local(to) == rank.local &&
         rank.map.node(to) == (node + route.distance) % rank.nodes();
}

// Those of all nodes, since all ranks of a column have as many messages.
void NodesPlan::find_routes(const NodeRank& rank) {
  for (const SideOfRank side : kSides) {
    for (int distance = 1; distance < rank.nodes(); ++distance) {
      for (int source = 0; source < rank.node_size(); ++source) {
        const Route route{side, distance, source};
        int node = 0;
        while (node < rank.nodes() && !leads(rank, route, node)) ++node;
        if (node < rank.nodes()) routes_.push_back(route);
      }
    }
  }
}

std::uint64_t NodesPlan::halo_offset(int owner, SideOfRank side, int parity) const {
  const FieldShape theirs = shape_of_rank(owner);
  const std::size_t row = side == SideOfRank::above ? static_cast<std::size_t>(theirs.rows) + 1 : 0;
  return static_cast<std::size_t>(parity) * theirs.bytes() + row * theirs.row_bytes();
}

Span NodesPlan::slot(int owner, int source, SideOfRank side, int parity) const {
  const int index = (source * kBoth + static_cast<int>(side)) * kBoth + parity;
  return slots_.at(owner).slice(static_cast<std::size_t>(index) * shape().row_bytes(),
                                shape().row_bytes());
}

Semaphore NodesPlan::arrived(int owner, SideOfRank side, int parity) const {
  return {semaphores_.at(owner, static_cast<int>(side) * kBoth + parity)};
}

Semaphore NodesPlan::full(int owner, int source, SideOfRank side, int parity) const {
  const int index = ((1 + source) * kBoth + static_cast<int>(side)) * kBoth + parity;
  return {semaphores_.at(owner, index)};
}

Span NodesPlan::own_row(SideOfRank side, int parity) const {
  return row_at(field(parity), shape(), side == SideOfRank::above ? 1 : shape().rows);
}

// Staged: a message goes within the call, when its row is there. Where a route does not lead from a
// node, its message has no bytes.
WireTraffic NodesPlan::traffic(const NodeRank& rank, int parity) const {
  WireTraffic traffic;
  traffic.region = fields_.own().span();
  traffic.sources = {fields_.own().span(), slots_.own().span()};
  for (const Route& route : routes_) {
    WireMessage message{rank.node_after(route.distance), {}, false};
    if (leads(rank, route, rank.node)) {
      const Span row = route.source == rank.local
                           ? own_row(route.side, parity)
                           : slot(rank.local, route.source, route.side, parity);
      const int to = rank.map.rank(message.node, rank.local);
      message.pieces.push_back({row, halo_offset(to, route.side, parity)});
      message.staged = true;
    }
    traffic.messages.push_back(std::move(message));
    const bool comes = leads(rank, route, rank.node_before(route.distance));
    traffic.arrivals.emplace_back(comes ? 1 : 0, shape().row_bytes());
  }
  return traffic;
}

void NodesPlan::plan_pushes(const NodeRank& rank, int parity) {
  Exchange& now = exchanges_[parity];
  for (const SideOfRank side : kSides) {
    const int to = neighbour(rank.whole.index, side);
    const int local = rank.map.local(to);
    if (rank.map.node(to) == rank.node) {
      const Span halo = fields_.at(local).slice(halo_offset(to, side, parity), shape().row_bytes());
      now.pushes.push_back({side, halo, {{arrived(local, opposite(side), parity)}, {}}});
      now.end.waits.push_back(arrived(rank.local, side, parity));
    } else if (local != rank.local) {
      now.pushes.push_back({side,
                            slot(local, rank.local, side, parity),
                            {{full(local, rank.local, side, parity)}, {}}});
    }
  }
}

void NodesPlan::plan_messages(const NodeRank& rank, int parity) {
  Exchange& now = exchanges_[parity];
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const Route& route = routes_[i];
    now.end.waits.push_back(now.wire->come(i));
    if (!leads(rank, route, rank.node)) continue;
    if (route.source == rank.local) {
      now.go.signals.push_back(now.wire->go(i));
    } else {
      now.forwards.push_back(
          {{{}, {full(rank.local, route.source, route.side, parity)}}, {{now.wire->go(i)}, {}}});
    }
  }
}

void NodesPlan::push(Stream& stream, Exchange& now, int parity) {
  if (!now.go.signals.empty()) stream.handshake(now.go);
  const bool by_lanes = executor_ == Executor::dma;
  if (by_lanes) lanes_.fork(stream, kBoth);
  for (const Exchange::Push& each : now.pushes) {
    Stream& lane = by_lanes ? lanes_.at(static_cast<int>(each.side)) : stream;
    lane.copy({each.to, own_row(each.side, parity), executor_, {}});
    lane.handshake(each.pushed);
  }
}

void NodesPlan::enqueue(Stream& stream, const Iteration& iteration) {
  const int written = 1 - iteration.parity;
  const Span from = field(iteration.parity), to = field(written);
  Exchange& now = exchanges_[written];
  now.wire->begin(stream);
  forward_.fork(stream, 1);
  for (const Exchange::Forward& each : now.forwards) {
    forward_.at(0).handshake(each.full);
    forward_.at(0).handshake(each.go);
  }
  parts_.sweep_before(stream, from, to, iteration.partials);
  push(stream, now, written);
  for (std::size_t i = 0; i < routes_.size(); ++i) now.wire->enqueue(stream, i);
  parts_.sweep_beside(stream, from, to, iteration.partials);
  if (executor_ == Executor::dma) lanes_.join(stream, kBoth);
  forward_.join(stream, 1);
  if (!now.end.waits.empty()) stream.handshake(now.end);
  now.wire->end(stream);
}

std::string NodesPlan::algorithm() const {
  return fmt::format("{}, pushes by {} in the node, {}",
                     overlap_ ? "boundary first" : "whole sweep first", name(executor_),
                     exchanges_[0].wire->description());
}

}  // namespace duet
