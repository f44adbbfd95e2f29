// Copies of a call between the buffers of each pair of ranks (pair_roles.h says who makes them):
//
//   first  F:  record of buffers --> pair's state
//              user's stream: set ready ...................... wait pushed, pulled, gate
//   second S:  finds F's record
//              push lane:     wait ready, copy S.send -> F.receive, set pushed
//              pull lane:     wait ready, copy F.send -> S.receive, set pulled
//              user's stream: ... joins both lanes ............ wait gate
//
// Where both share a call, each sets ready, pushes, and waits for the other's pushed. Copies of a
// call are in rotated order on all ranks: rank r pushes to r + i and pulls from r - i in step i.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_shim/protocol/lanes.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/pair_roles.h"
#include "nccl_shim/protocol/staging_buffer.h"

namespace duet::nccl_shim {

// Not thread-safe.
class BufferCopies : OwnRank {
 public:
  BufferCopies(const OwnRank& rank, const PairRoles& roles, Lanes& lanes, LentMemory& lent,
               BorrowedMemory& borrowed);

  // Writes the record of a call, and lends its buffers. Throws OutOfMemory where a staging buffer
  // cannot be made.
  Buffers publish(const Call& call, std::uint64_t number);

  // The rest in this order, enqueued on `user` and the lanes. The call is settled behind stage(),
  // and has gone through slots before signal_ready().
  void stage(const BegunCall& begun, Stream user);  // what the call sends
  void signal_ready(const BegunCall& begun, Stream user);
  void copy(const BegunCall& begun,
            Stream user);  // only of a call in pairs (PairRoles::in_pairs())
  void wait_for_peers(const BegunCall& begun, Stream user);
  void unstage(const BegunCall& begun, Stream user);  // what it has received

  void copy_own_part(const BegunCall& begun, Stream user);

 private:
  const char* lend(const void* buffer, std::size_t bytes, StagingBuffer& staging,
                   BufferPlace& place);
  void push(const BegunCall& begun, int to);
  void pull(const BegunCall& begun, int from);

  const PairRoles& roles_;
  Lanes& lanes_;
  LentMemory& lent_;
  BorrowedMemory& borrowed_;
  StagingBuffer send_staging_, receive_staging_;
};

}  // namespace duet::nccl_shim
