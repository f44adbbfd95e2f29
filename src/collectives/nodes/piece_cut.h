// How messages are cut into the pieces that rails carry, and which rail carries which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/operation.h"

namespace duet {

// Of a call, the largest values in a column.
struct MessageSize {
  std::uint64_t bytes = 0, parts = 0;  // of a message
  std::uint64_t all = 0;               // bytes of all messages of a rank
};

// A sender and its receiver cut a message alike. A piece that was given to a rail cannot move to
// another one, so a call's last message ends in small pieces: then all rails end at about the same
// time.
class PieceCut {
 public:
  struct Piece {
    std::size_t part = 0;
    std::uint64_t offset = 0, bytes = 0;  // in its part
  };

  // For messages of at most these sizes on so many rails, which access memory by this path.
  PieceCut(const MessageSize& largest, int rails, MemoryPath path);

  // The pieces of a message whose parts have so many bytes. `last`: it is the call's last message.
  std::vector<Piece> pieces(const std::vector<std::uint64_t>& parts, bool last) const;
  // How many pieces a message has at most; the last one may have more_of_last() more.
  std::size_t most() const { return most_; }
  std::size_t more_of_last() const { return more_of_last_; }
  // Of a piece, but for the small ones and the last of a part.
  std::uint64_t usual_bytes() const { return usual_; }

 private:
  std::uint64_t usual_ = 0;  // bytes of a piece
  std::uint64_t end_ = 0;    // bytes at the end of the last message that go in small pieces
  std::size_t most_ = 0, more_of_last_ = 0;
};

// Deals pieces, each to the rail with the least under way, so that a slow rail gets fewer. What a
// rail has taken no other can carry: so rails have several pieces under way, which hides latencies,
// but together at most half as much as is left to deal, until they have the fewest.
class RailDealer {
 public:
  static constexpr std::size_t kMostPieces = 8, kFewestPieces = 4;  // under way on a rail

  explicit RailDealer(std::size_t rails) : in_flight_(rails), posted_(rails) {}

  // A call begins that deals so many bytes. Nothing is under way.
  void begin(std::uint64_t bytes) { left_ = bytes; }
  // Which of these rails takes a piece of so many bytes; -1: none, before one has ended.
  int choose(const std::vector<int>& rails, std::uint64_t bytes) const;
  void post(int rail, std::uint64_t bytes);
  void ended(int rail, std::uint64_t bytes);
  // The rail is lost, and the piece is dealt again where it has not come.
  void lost(int rail, std::uint64_t bytes);

 private:
  bool takes(std::size_t rail, std::size_t rails, std::uint64_t bytes) const;

  std::uint64_t left_ = 0;                // bytes
  std::vector<std::uint64_t> in_flight_;  // bytes, by rail
  std::vector<std::size_t> posted_;       // pieces in flight, by rail
};

}  // namespace duet
