// What a kernel that sends packets does, for the checker.
#pragma once

#include <string>

#include "collectives/schedule/checker.h"

namespace duet {

bool sends_packets(const RankSchedule& schedule);

// The schedule whose only kernel sends packets, with these as items of two kernels: the first one
// copies parts into slots at the peers, the second one takes those that arrive. Calls use two
// halves of the slots in turn: `half` is 0 or 1.
RankSchedule with_packets_as_items(const RankSchedule& schedule, int half);

// The first fault, "" if there is none, that the two kernels above hide: the real kernel is one, in
// which each thread receives the bytes at the offsets of parts that it has sent itself. So a part
// may be received in the place of one that is sent, but must not overlap it at another offset.
std::string fault_of_packets(const CollectiveSchedule& schedule);

}  // namespace duet
