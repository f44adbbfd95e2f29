// What a kernel that sends packets does, for the checker.
#pragma once

#include <string>

#include "collectives/schedule/checker.h"

namespace duet {

bool sends_packets(const RankSchedule& schedule);

// The schedule whose only kernel sends packets, with these as items of two kernels: the first one
// pushes parts into slots at the peers, the second one takes those that arrive. Calls use two
// halves of the slots in turn: `half` is 0 or 1.
RankSchedule with_packets_as_items(const RankSchedule& schedule, int half);

// In truth each thread takes some packets of all parts once it has pushed those: a part may be
// taken to where one has been pushed from, but not to where one overlaps it otherwise. "" if all
// are so.
std::string fault_of_packets(const CollectiveSchedule& schedule);

}  // namespace duet
