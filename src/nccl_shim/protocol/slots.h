// Calls whose parts go through slots at their receiver, which reduces them, or copies them out.
//
// A reduce_scatter goes through slots, which every rank has lent at creation, two for each peer.
// Its parts are cut into pieces of piece_bytes at most, which communicators count:
//
//   sender s                                receiver r
//   a lane: wait freed >= piece - 2
//           copy into r's slot piece % 2
//           set arrived = piece   -->   user's stream: wait arrived of all peers
//                                                      reduce own part and slots, in rank order
//   ...                           <--                  set freed = piece for all peers
//
// An all_reduce is such a reduce_scatter into the receive buffer, and then copies between buffers
// (buffer_copies.h) of what each rank has reduced: `ready` is set behind the reduction. In place
// nothing is written too early: a rank has reduced its part when all peers' data of that part have
// left their buffers.
//
// A communicator that is staged makes all calls so, of other kinds with a copy out of the slots in
// the place of the reduction: no rank maps a user's buffer of another. Pieces are counted alike by
// all pairs, also by those of which one sends the other nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nccl_shim/protocol/buffer_copies.h"
#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/lanes.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/pair_roles.h"

namespace duet::nccl_shim {

// Not thread-safe, but waits_for() and end_own_waits(), as Transfers' are.
class Slots : OwnRank {
 public:
  // Of each rank's memory.
  static std::size_t bytes(int ranks, const Method& method);

  Slots(const OwnRank& rank, const Method& method, ReceiveMemory& memory, BufferCopies& buffers,
        Lanes& lanes)
      : OwnRank(rank), method_(method), memory_(memory), buffers_(buffers), lanes_(lanes) {}

  void count(const Call& call);  // once, before pass()
  // Enqueues what of a call goes through slots, if anything does.
  void pass(const BegunCall& begun, Stream user);

  bool waits_for(int peer) const;
  void expect_without(const TakenBack& calls);
  void end_own_waits();
  bool may_touch(int peer) const;

 private:
  // What becomes of a call's parts in slots: an all_reduce may be one pass after the other.
  enum class Pass { reduce, copy };
  struct Piece {
    std::uint32_t number;
    std::size_t begin, end;  // of each part
  };

  bool has_pass(const Call& call, Pass pass) const;
  // Where the pieces of a pass's parts begin, and where the last one ends, in bytes.
  std::vector<std::size_t> cuts(const Call& call) const;
  std::uint32_t pieces(const Call& call) const;
  std::size_t slot(int source, int receiver, std::uint32_t piece) const;
  void pass_piece(const BegunCall& begun, Pass pass, const Piece& piece, Stream user);
  void send_piece(int to, std::uint32_t piece, const char* from, std::size_t bytes, Stream lane);
  void reduce_piece(const BegunCall& begun, const Piece& piece, Stream user);
  void copy_piece_out(const BegunCall& begun, const Piece& piece, Stream user);

  const Method method_;
  ReceiveMemory& memory_;
  BufferCopies& buffers_;
  Lanes& lanes_;
  // By all calls so far, alike on all ranks. Atomic because waits_for() and end_own_waits() read
  // it.
  std::atomic<std::uint32_t> pieces_{0};
  std::uint32_t before_ = 0;  // pieces, before the last call that was counted
  // Up to which piece a peer's have arrived, by end_own_waits(), under Ending's abort_mutex_, or
  // will have, behind expect_without().
  std::array<std::uint32_t, kMostRanks> seen_{}, expected_{};
};

}  // namespace duet::nccl_shim
