#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/schedule/schedule.h"

namespace duet {

// The staging slots of a schedule: at each rank some for every other rank, which pushes its pieces
// into them in turn. `full`: the piece is in the slot. `free`: the slot may be written.
//
// A receiver's send token, where there are any, lets one rank push to it at a time; it is only for
// speed. Of a piece the rank before the receiver pushes first and the one after it last; the next
// piece begins with the first. A rank without bytes for the receiver passes the token on as well.
class StagingSlots {
 public:
  StagingSlots() = default;
  // For pieces of at most `largest` bytes, `most_pieces` of them from one rank to another.
  StagingSlots(int rank, int ranks, std::size_t most_pieces, std::uint64_t largest,
               bool with_tokens);

  int ranks() const { return ranks_; }
  int count() const { return count_; }  // for each other rank
  std::size_t most_pieces() const { return most_pieces_; }
  // Whether the semaphores of a slot are awaited on one of so many lanes now and on another later,
  // where steps take lanes in turn; and whether those of a slot or a token are, where steps push.
  bool change_lanes(int lanes) const;
  bool pushes_change_lanes(int lanes) const;

  // The rank's schedule, with semaphores and slots and without steps. Groups that are added come
  // behind those that it has.
  RankSchedule schedule() const;
  static constexpr int kGroups = 4;

  // The slot at `owner` into which `source` pushes the piece.
  Place at(int owner, int source, std::size_t piece, std::uint64_t bytes) const;
  SemaphoreAt full(int owner, int source, std::size_t piece) const;
  SemaphoreAt free(int owner, int receiver, std::size_t piece) const;
  // A step that waits for the send token of `to` and passes it on, where there are tokens.
  Step push(int to) const;

 private:
  SemaphoreAt token(int owner, int to) const;
  int slot_of(std::size_t piece) const { return static_cast<int>(piece) % count_; }

  int rank_ = 0, ranks_ = 1, count_ = 1;
  std::size_t most_pieces_ = 0;
  std::uint64_t slot_bytes_ = 0;
  bool has_tokens_ = false;
};

}  // namespace duet
