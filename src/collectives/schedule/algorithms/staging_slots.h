#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"

namespace duet {

// Pieces are few and large. Behind a switch every copy has a fixed cost of some 4 us, and the more
// copies there are, the further ranks drift apart, until several push to one receiver at the same
// time. GB/s of a reduce_scatter on 4 x H200:
//
//   pieces of at most   256 MiB   1 GiB   4 GiB
//    32 MiB                 295     296     244
//    64 MiB                 297     345     271
//   128 MiB                 300     343     352
//
// A third slot changes nothing. For buffers of many pieces a send token keeps ranks in order:
// 13 GiB (26 pieces) 292 without, 373 with it; 4 GiB (9 pieces) 351 and 364; but 1 GiB (4 pieces)
// 343 and 337, since the token takes a while to arrive.
inline constexpr std::uint64_t kLargestPiece = 128 << 20;

// Slots for each sender, for parts of at most `pieces` pieces.
int slots_for(std::size_t pieces);

// The room of a slot for so many bytes: slots begin aligned.
std::uint64_t slot_bytes_for(std::uint64_t largest_piece);

// How many of the lanes push, for pieces of at most `largest_piece` bytes.
int lanes_for(CopyLanes lanes, std::uint64_t largest_piece);

// Whether ranks that push `pieces` pieces to every other rank need a send token for each receiver.
bool needs_send_token(CopyLanes lanes, std::size_t pieces);

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
