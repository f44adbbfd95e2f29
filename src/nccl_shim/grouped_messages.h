// Groups of messages that are an all_to_all, as programs make one by an NCCL before 2.28. That a
// rank's group has this form says nothing of its peers' groups, so the user says that all ranks'
// groups have it if one's has (DUET_NCCL_GROUPS=all_to_all).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/nccl/abi.h"
#include "nccl_shim/communicators.h"

namespace duet::nccl_shim {

// A message that waits for the end of its group to be made. `forward` makes it by the real NCCL.
struct HeldMessage {
  nccl::Comm comm;
  Message message;
  ShimDevice::Stream stream;
  std::function<nccl::Result()> forward;
};

// Whether it is held, in a group. `communicator`: as find() gives it.
bool is_held(const Communicator* communicator, const Message& message);

// The all_to_all that messages of one communicator are: one to each rank and one from each, the own
// one too, of one size and on one stream, the parts of the buffers in the order of ranks.
std::optional<Call> as_all_to_all(const std::vector<HeldMessage>& messages, int ranks);

// At the end of their group, before the real end: the messages of a communicator that are an
// all_to_all which is taken over are that call, all others are messages.
void make_held(const std::vector<HeldMessage>& held);

}  // namespace duet::nccl_shim
