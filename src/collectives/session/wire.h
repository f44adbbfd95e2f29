// What a plan asks of the network: messages between the ranks of a column, one a node.
//
//   sender                              receiver
//   (stream)  go ----------+            (stream)  begin(): its region may be written
//                          v
//             the message crosses the network
//                          |
//   (stream) <--- gone ----+---- come ---> (stream)
//
// go, gone and come are semaphores: streams and kernels signal `go`, and wait for `gone` and
// `come`. Invariant: between calls all of them are 0. Who waits for one sets it back before the
// call ends, so that a captured call can be replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/session/watchdog.h"
#include "device/stream.h"
#include "team/nodes.h"

namespace duet {

// A rank with its place among the nodes. `in_node` has the ranks of its node, by local index;
// `in_column` those of its column, by node.
struct NodeRank : NodePlace {
  NodeRank(const Rank& rank, const NodeTeams& teams, const NodeMap& nodes)
      : NodePlace(nodes, rank.index),
        whole(rank),
        in_node(teams.in_node(rank)),
        in_column(teams.in_column(rank)) {}

  Rank whole, in_node, in_column;
};

// Contiguous bytes of a message: where they are, and where they go in the receiver's region.
struct WirePiece {
  Span source;
  std::uint64_t offset = 0;
};

struct WireMessage {
  int node = 0;  // the receiver is this column's rank there
  std::vector<WirePiece> pieces;
  // False: the source is ready when the call begins. True: it is ready at the message's `go`.
  bool staged = false;
  // False: the source is not overwritten before the wire ends. True, of a staged one: it may be at
  // the message's `gone`, which is then to be awaited.
  bool tells_gone = false;
};

// Message i of a rank to node a + d is message i of that node's rank from node a: all ranks of a
// column have as many messages, and send equal i over an equal distance d of nodes.
struct WireTraffic {
  // What the column's other ranks write to: this memory, or so many bytes that the wire allocates.
  Span region;
  std::uint64_t region_bytes = 0;
  // > 0, of a FabricWire alone: message i + slots goes to where message i has gone to, once the
  // receiver has signalled `taken` for that one. 0: every message has a place of its own.
  std::size_t slots = 0;
  std::vector<Span> sources;          // where the messages' pieces lie
  std::vector<WireMessage> messages;  // in the order in which they go
  // The bytes of each piece of the messages that this rank receives.
  std::vector<std::vector<std::uint64_t>> arrivals;
};

class Wire {
 public:
  virtual ~Wire() = default;

  // Of this rank.
  virtual const Span& region() const = 0;

  // Of message i that this rank sends, where it is staged; and of the one that it receives.
  virtual Semaphore go(std::size_t message) const = 0;
  virtual Semaphore gone(std::size_t message) const = 0;
  virtual Semaphore come(std::size_t message) const = 0;

  // After what `stream` has got so far, the region may be written.
  virtual void begin(Stream& stream) = 0;
  // To be called for each message, in order; for a staged one behind what signals its `go`, in an
  // order that all ranks keep. A wire may have work of its own for a message, and a stream whose
  // queue is full keeps its caller waiting until earlier work has ended.
  virtual void enqueue(Stream& stream, std::size_t message) = 0;
  // What `stream` gets from here on starts when all messages of this rank have gone.
  virtual void end(Stream& stream) = 0;

  virtual std::string description() const = 0;  // for algorithm()
};

// Makes a rank's wire of a plan. Collective: every rank calls it inside Team::each().
using MakeWire = std::function<std::unique_ptr<Wire>(NodeRank&, const WireTraffic&)>;

}  // namespace duet
