#pragma once

#include <cstdint>
#include <vector>

#include "fabric/operation.h"

namespace duet {

struct Message {
  int peer = 0;
  std::uint64_t local = 0, remote = 0;  // offsets in the region here and in the peer's
  std::uint64_t sequence = 0;           // round_robin: rail `sequence` modulo their number
};

// How messages are moved.
struct MessageShape {
  FabricOperation operation = FabricOperation::write;
  RailMode mode = RailMode::single;
  std::uint64_t bytes = 0;  // of a message
  std::uint64_t chunk = 0;  // largest piece; 0: one piece per rail
  int window = 1;           // messages in flight at most
};

// What a process moves in one iteration.
struct FabricLoad : MessageShape {
  std::vector<Message> messages;
};

}  // namespace duet
