// How messages are cut into the pieces that rails carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/operation.h"

namespace duet {

// What the messages of a call are at most, in a column.
struct MessageSize {
  std::uint64_t bytes = 0, parts = 0;
  std::uint64_t all = 0;  // bytes of all messages of a rank
};

// A sender and its receiver cut a message alike. A rail that has taken a piece cannot pass it on,
// so the end of a call's last message is cut smaller: the rails end together.
class PieceCut {
 public:
  struct Piece {
    std::size_t part = 0;
    std::uint64_t offset = 0, bytes = 0;  // in its part
  };

  // For messages of at most these sizes on so many rails, which access memory by this path.
  PieceCut(const MessageSize& largest, int rails, MemoryPath path);

  // Of a message of such parts, in bytes. `last`: it is the call's last one.
  std::vector<Piece> pieces(const std::vector<std::uint64_t>& parts, bool last) const;
  // Of any message but the last, at most, and how many more the last one may have.
  std::size_t most() const { return most_; }
  std::size_t more_of_last() const { return more_of_last_; }
  std::uint64_t usual_bytes() const { return usual_; }

 private:
  std::uint64_t usual_ = 0, small_ = 0;  // bytes of a piece
  std::uint64_t end_ = 0;  // so many bytes at the end of the last message are cut small
  std::size_t most_ = 0, more_of_last_ = 0;
};

}  // namespace duet
