// What a process has to move in one iteration, and in which way.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/operation.h"

namespace duet {

struct Message {
  int peer = 0;
  std::uint64_t local = 0, remote = 0;  // offsets in the region here and in the peer's
  std::uint64_t turn = 0;               // round_robin: which rail's it is
};

// How messages are moved.
struct MessageShape {
  FabricOperation operation = FabricOperation::write;
  RailMode mode = RailMode::single;
  std::uint64_t bytes = 0;  // of a message
  std::uint64_t chunk = 0;  // of a piece at most; 0: a rail's part in one piece
  int window = 1;           // messages in flight at most
};

struct FabricLoad : MessageShape {
  std::vector<Message> messages;
};

}  // namespace duet
