// How a message is cut: over rails, and on each rail into chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/load.h"

namespace duet {

struct MessagePiece {
  int rail = 0;
  std::uint64_t offset = 0, bytes = 0;  // in the message
  bool last = false;                    // of its message on its rail
};

// The pieces of a message, together all of its bytes, in the order to post them: rail after rail by
// turns, so that all have something to do from the start. `rails`: those to use, at least one.
// `turn`: which of them it is that round_robin takes. `chunk`: bytes of a piece at most; 0: a
// rail's part in one piece.
std::vector<MessagePiece> cut_message(std::uint64_t bytes, std::uint64_t turn, RailMode mode,
                                      const std::vector<int>& rails, std::uint64_t chunk);

// The same for every message of a load: few, so that they are at hand while large messages pass
// through the caches.
class MessageCuts {
 public:
  MessageCuts(const MessageShape& shape, const std::vector<int>& rails);
  const std::vector<MessagePiece>& of(std::uint64_t turn) const {
    return cuts_[turn % cuts_.size()];
  }

 private:
  std::vector<std::vector<MessagePiece>> cuts_;  // by turn, as far as they differ
};

}  // namespace duet
