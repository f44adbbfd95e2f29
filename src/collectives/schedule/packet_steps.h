// What a kernel that sends packets does, for the checker.
#pragma once

#include "collectives/schedule/schedule.h"

namespace duet {

bool sends_packets(const RankSchedule& schedule);

// The schedule whose first kernel sends packets, with these as items: it pushes parts into slots at
// the peers and takes those that arrive. Calls use two halves of the slots in turn: `half` is 0 or
// 1.
RankSchedule with_packets_as_items(const RankSchedule& schedule, int half);

}  // namespace duet
