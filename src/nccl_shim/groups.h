// What a thread has called between ncclGroupStart and the outermost ncclGroupEnd.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/nccl/abi.h"
#include "nccl_shim/communicators.h"
#include "nccl_shim/creations.h"
#include "nccl_shim/grouped_messages.h"

namespace duet::nccl_shim {

bool in_group();
void begin_group();

// In a group only. `forward` makes the call by the real NCCL.
void queue_call(std::shared_ptr<Communicator> communicator, const Call& call,
                ShimDevice::Stream stream, std::function<nccl::Result()> forward);
void queue_call(std::shared_ptr<Communicator> communicator, const Message& message,
                ShimDevice::Stream stream, std::function<nccl::Result()> forward);
// In a group only: a message that is made at its end (grouped_messages.h).
void hold_message(HeldMessage held);
// Of a call that the real NCCL has queued itself.
void queue_order(std::shared_ptr<Communicator> communicator, ShimDevice::Stream stream,
                 nccl::Comm handle);
void queue_creation(std::unique_ptr<PendingCreation> pending);
// Of communicators that can be announced when NCCL has created them.
struct Announcement {
  // Adds them to its argument. Called behind the real end, if that succeeds, before any of the
  // group's communicators is entered: ranks of one thread wait for each other then.
  std::function<nccl::Result(std::vector<std::unique_ptr<PendingCreation>>& pending)> announce;
  // Of one whose ranks may be in several processes: what names the real call for all ranks, and
  // what is called before the real end in the place of announce() where the group creates others
  // too.
  std::string creation;
  std::function<void()> refuse;
};
void queue_announcement(Announcement announcement);
// `result` is that of a call in this thread, and the result of this function. In a group an error
// is the whole group's, as with NCCL: nothing of it is made.
nccl::Result note_result(nccl::Result result);
// Keeps `what` until the real end has returned.
void keep_to_end(std::shared_ptr<const void> what);

// The end of a group. At the outermost one, the calls that are queued here are enqueued in the
// order of each device's, before `real_end`: an order that all ranks have in common, because all
// take over the same calls. Messages, which have no order with anything else of a group, are
// started before that, and waited for behind it.
nccl::Result end_group(const std::function<nccl::Result()>& real_end);

// Hands the queue of an outermost group to the real NCCL: nothing of it is enqueued here. The group
// ends with `real_end`.
nccl::Result end_group_by_forwarding(const std::function<nccl::Result()>& real_end);

// Does `what`, and turns an error into a result and a line on standard error.
nccl::Result result_of(const std::function<void()>& what);

}  // namespace duet::nccl_shim
