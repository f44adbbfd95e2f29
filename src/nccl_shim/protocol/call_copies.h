#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "nccl_shim/protocol/buffer_copies.h"
#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/failure.h"
#include "nccl_shim/protocol/lanes.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/pair_roles.h"
#include "nccl_shim/protocol/slots.h"
#include "nccl_shim/protocol/transfers.h"

namespace duet::nccl_shim {

// Small calls, as exchanges of packets on the user's stream: every rank sends every other the same
// number of bytes.
//
// Such calls need neither each other's buffers nor roles. Each rank has two packet buffers for each
// peer, which calls use in turn: a rank that has got the peers' packets of a call knows that they
// have taken those of the call before it. Reductions are made of what has come. The device counts
// calls, so that a call may be captured into a graph: it has nothing that only this launch of it
// has. No gate is needed: an exchange that has ended has all that it waited for, unless this rank
// has aborted.
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

// One rank's side of a communicator's calls: by copies between buffers, through slots, or by
// packets. Not thread-safe, but as Transfers say.
class CallCopies : public Transfers, OwnRank {
 public:
  CallCopies(const OwnRank& rank, const Method& method, LentMemory& lent, BorrowedMemory& borrowed,
             const Failure& failure);

  bool by_packets(const Call& call) const { return packets_.takes(call); }
  ReceiveMemory& memory() { return memory_; }

  // A call in two steps. The first tells the peers, and gives streams nothing: what a call is made
  // of comes in the order in which calls finish, which is that in which they are made. `in_group`:
  // as in PairCopies::begin(). Throws OutOfMemory before any rank knows of the call.
  void begin(const Call& call, bool in_group);
  // Enqueues it on `user` and the lanes. It stays begun until end() or give_up().
  void enqueue(Stream user);
  // Behind the second: another may begin.
  void end() { begun_.reset(); }

  bool is_begun() const override { return begun_.has_value(); }
  void give_up() override;
  bool waits_for(int peer) const override;
  void revoke_untaken() override;
  void end_own_waits() override;
  void record_ends() noexcept override { lanes_.record_ends(); }
  bool runs() const override { return lanes_.runs(); }
  bool may_touch(int peer) const override;

 private:
  void wait_for_room(std::uint64_t number) const;
  void settle();

  const Failure& failure_;
  BorrowedMemory& borrowed_;
  ReceiveMemory memory_;
  Lanes lanes_;
  PairRoles roles_;
  BufferCopies buffers_;
  Slots slots_;
  PacketCalls packets_;
  std::uint64_t number_ = 0;  // calls so far, but those by packets
  std::optional<BegunCall> begun_;
};

}  // namespace duet::nccl_shim
