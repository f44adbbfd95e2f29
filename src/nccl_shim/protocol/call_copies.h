#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "nccl_shim/protocol/buffer_copies.h"
#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/exchange_calls.h"
#include "nccl_shim/protocol/failure.h"
#include "nccl_shim/protocol/lanes.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/pair_roles.h"
#include "nccl_shim/protocol/slots.h"
#include "nccl_shim/protocol/transfers.h"

namespace duet::nccl_shim {

// One rank's side of a communicator's calls: by copies between buffers, through slots, or by
// kernels that exchange packets or chunks. Not thread-safe, but as Transfers say.
class CallCopies : public Transfers, OwnRank {
 public:
  CallCopies(const OwnRank& rank, const Method& method, LentMemory& lent, BorrowedMemory& borrowed,
             const Failure& failure);

  bool by_packets(const Call& call) const { return exchanges_.by_packets(call); }
  bool by_chunks(const Call& call, bool captured) const {
    return exchanges_.by_chunks(call, captured);
  }
  ReceiveMemory& memory() { return memory_; }

  // A call in two steps. The first tells the peers, and gives streams nothing: what a call is made
  // of comes in the order in which calls finish, which is that in which they are made. `in_group`:
  // as in PairCopies::begin(). Only a call by a kernel may be `captured`. Throws OutOfMemory before
  // any rank knows of the call.
  void begin(const Call& call, bool captured, bool in_group);
  bool is_by_kernel() const { return way_ != Way::copies; }  // the call that has begun
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
  enum class Way { copies, packets, chunks };
  void wait_for_room(std::uint64_t number) const;
  void settle();

  const Failure& failure_;
  BorrowedMemory& borrowed_;
  ReceiveMemory memory_;
  Lanes lanes_;
  PairRoles roles_;
  BufferCopies buffers_;
  Slots slots_;
  ExchangeCalls exchanges_;
  std::uint64_t number_ = 0;  // calls so far, but those by kernels
  std::optional<BegunCall> begun_;
  Way way_ = Way::copies;  // in which it is made
};

}  // namespace duet::nccl_shim
