// Which rank of each pair makes the copies of a call between buffers (buffer_copies.h).
//
// Of each pair, the rank that comes second to a call knows all four buffers. If the first still
// waits for it, both know them, and each pushes its part; if not, the second makes both copies.
//
// Copies to and from memory of other processes take turns on one copy engine: on two H100 an
// all_gather of 1 GiB takes 2.8 ms if the second makes both, and 1.5 ms if each pushes. So the
// first waits on the CPU for as long as its own push would take (wait_seconds_per_byte): no longer
// than it may gain. Ranks of which one thread makes the calls, in a group, need no such wait: all
// come to a call before one goes on. Who is first may change with every call and pair.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/failure.h"
#include "nccl_shim/protocol/own_rank.h"

namespace duet::nccl_shim {

using Roles = std::array<Role, kMostRanks>;

// This rank's buffers in a call, or the staging buffers in their place; offsets of parts count from
// them.
struct Buffers {
  const char* send = nullptr;
  char* receive = nullptr;
  bool send_staged = false, receive_staged = false;
};

// A call between the two steps in which it is made (CallCopies). One by packets has neither number,
// buffers nor roles, and is settled.
struct BegunCall {
  Call call;
  std::uint64_t number = 0;
  Buffers mine{};
  Roles roles{};
  bool settled = false;  // roles do not change any more, and the call's words are counted
};

// A call's kind, root and bytes, of those that an abort has taken back from each peer.
using TakenBack = std::array<std::vector<Call>, kMostRanks>;

// Not thread-safe, but waits_for() and end_own_waits(), as Transfers' are.
class PairRoles : OwnRank {
 public:
  // How often a rank a has set, or will set, its words for a rank b by all calls so far. Atomic
  // because waits_for() and end_own_waits() read them.
  struct Sequence {
    std::atomic<std::uint32_t> ready{0}, pushed{0}, pulled{0};
  };

  PairRoles(const OwnRank& rank, const Method& method, const Failure& failure)
      : OwnRank(rank), method_(method), failure_(failure) {}

  // Whether ranks copy to and from each other's buffers in a call.
  bool in_pairs(const Call& call) const;
  // What `source` then copies into the receive buffer of `destination`.
  Part copied(const Call& call, int source, int destination) const;

  // Comes to a call, whose record is written. `in_group`: as in PairCopies::begin().
  void take(BegunCall& begun, bool in_group);
  // Waits for late peers, and counts the call's words. Once.
  void settle(BegunCall& begun);
  // Of one that is settled. Throws PeerFailed if a peer has aborted, BadArgument if one that has
  // come makes another call.
  void check(const BegunCall& begun) const;

  const Sequence& mine(int peer) const { return mine_[peer]; }      // this rank's words for it
  const Sequence& theirs(int peer) const { return theirs_[peer]; }  // and back

  bool waits_for(int peer) const;
  TakenBack revoke_untaken(std::uint64_t last);  // of the calls up to number `last`
  void end_own_waits();
  bool may_touch(int peer) const;

 private:
  // Of a peer's words for this rank: the values that it has set last, or will have set when its
  // copies have ended.
  struct Share {
    std::uint32_t pushed = 0, pulled = 0;
  };

  bool involved(const Call& call, int peer) const;
  double wait_seconds(const Call& call, int peer) const;
  void count(const BegunCall& begun);
  PairState& state(int peer, std::uint64_t number) const;

  const Method method_;
  const Failure& failure_;
  std::array<Sequence, kMostRanks> mine_, theirs_;
  std::array<Share, kMostRanks> seen_{};      // by end_own_waits(), under Ending's abort_mutex_
  std::array<Share, kMostRanks> expected_{};  // behind revoke_untaken()
};

}  // namespace duet::nccl_shim
