// Ranges of NVTX, in the domain "Duet", of calls that are taken over. Where no tool has asked for
// them they cost one branch.
#pragma once

#include <cstdint>

#include "nccl_shim/call_counts.h"

namespace duet::nccl_shim {

// While it lives the calling thread is in the call: named as it is counted, with its bytes, and in
// the category of the means by which it is made.
class CallRange {
 public:
  CallRange(const Counted& call, Means means, int ranks);
  ~CallRange();
  CallRange(const CallRange&) = delete;
  CallRange& operator=(const CallRange&) = delete;
};

// The same of a group's end, "group_end", with how many of its calls are taken over.
class GroupEndRange {
 public:
  explicit GroupEndRange(std::uint64_t calls);
  ~GroupEndRange();
  GroupEndRange(const GroupEndRange&) = delete;
  GroupEndRange& operator=(const GroupEndRange&) = delete;
};

}  // namespace duet::nccl_shim
