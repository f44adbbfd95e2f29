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

struct MessagePiece {
  int rail = 0;
  std::uint64_t offset = 0, bytes = 0;  // in the message
  bool last = false;                    // of its message on its rail
};

// The pieces of a message, which cover all of its bytes, in the order to post them: one for each
// rail, then the next for each, so that all rails are busy from the start. `rails`: at least one.
// `sequence`: round_robin takes the rail at this number modulo theirs. `chunk`: largest size of a
// piece in bytes; 0: one piece per rail.
std::vector<MessagePiece> cut_message(std::uint64_t bytes, std::uint64_t sequence, RailMode mode,
                                      const std::vector<int>& rails, std::uint64_t chunk);

// The pieces of every message of a load, made once for each sequence number that differs: few, so
// that they stay in the caches while large messages pass through.
class MessagePieces {
 public:
  MessagePieces(const MessageShape& shape, const std::vector<int>& rails);
  const std::vector<MessagePiece>& of(std::uint64_t sequence) const {
    return cuts_[sequence % cuts_.size()];
  }

 private:
  std::vector<std::vector<MessagePiece>> cuts_;  // by sequence number modulo their count
};

}  // namespace duet
