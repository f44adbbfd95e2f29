#pragma once

#include <cstdint>
#include <string>

#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"

namespace duet::nccl_shim {

// Whether the ranks of a communicator lend each other segments (device.h): all do, or none does, as
// a rank that cannot map a peer's buffer cannot make a call any other way. Not thread-safe.
class SegmentAgreement : OwnRank {
 public:
  // Lends two segments as a test, where the device has them and they are `wanted`.
  SegmentAgreement(const OwnRank& rank, LentMemory& lent, bool wanted);
  ~SegmentAgreement() { end_test(); }
  SegmentAgreement(const SegmentAgreement&) = delete;
  SegmentAgreement& operator=(const SegmentAgreement&) = delete;

  // Maps and reads those of all ranks, which have been lent or not.
  void try_peers();
  // Behind all ranks' try_peers().
  void agree();
  // Why segments are not lent, where the device has them.
  const std::string& why_not() const { return why_not_; }

 private:
  std::uint64_t* test_words() const;
  void try_peer(int peer);
  void end_test();

  LentMemory& lent_;
  char* test_ = nullptr;  // the segments that are lent as a test
  std::string why_not_;
};

}  // namespace duet::nccl_shim
