// Small calls, as exchanges of packets on the user's stream: every rank sends every other the same
// number of bytes.
//
// Such calls need neither each other's buffers nor roles. Each rank has two packet buffers for each
// peer, which calls use in turn: a rank that has got the peers' packets of a call knows that they
// have taken those of the call before it. Reductions are made of what has come. The device counts
// calls, so that a call may be captured into a graph: it has nothing that only this launch of it
// has. No gate is needed: an exchange that has ended has all that it waited for, unless this rank
// has aborted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"

namespace duet::nccl_shim {

class PacketCalls : OwnRank {
 public:
  // Of each rank's memory.
  static std::size_t bytes(int ranks, const Method& method);

  PacketCalls(const OwnRank& rank, const Method& method, ReceiveMemory& memory)
      : OwnRank(rank), most_(method.most_by_packets), memory_(memory) {}

  bool takes(const Call& call) const;
  void enqueue(const Call& call, Stream user);

  // As Transfers'; the first takes up to 40 ms, in which the device answers.
  bool waits_for(int peer) const;
  void end_own_waits();

 private:
  PacketWords& own_words() const { return shared_.words.packets[rank_]; }
  // From the start of the receiver's packet buffers.
  std::size_t buffer(int source, int receiver) const;

  const std::size_t most_;  // bytes of a call
  ReceiveMemory& memory_;
};

}  // namespace duet::nccl_shim
