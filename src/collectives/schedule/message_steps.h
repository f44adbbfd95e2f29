// Messages as steps, for the checker and pictures: what a wire promises (session/wire.h).
#pragma once

#include "collectives/schedule/schedule.h"

namespace duet {

// The rank's schedule, whose form must have no fault (fault_of_form()), with a step for each
// message, on a lane of its own. The step starts when the wire has begun, when the receiver's has,
// and, if staged, behind the message's `go`; it copies the pieces, and signals `come` and, where
// the message tells that, `gone`. The wire ends behind all of them.
RankSchedule with_messages_as_steps(const RankSchedule& schedule);

// The first fault in what the rank says of its messages: wires that do not begin, send and end in
// this order, semaphores and places that messages cannot have; "" if there is none.
std::string fault_of_messages(const RankSchedule& schedule);
// Likewise in what ranks say of each other's, which are alike but for this: another sender, or
// other sizes, than the receiver expects.
std::string fault_of_messages(const std::vector<RankSchedule>& ranks);

}  // namespace duet
