// Proves that schedules give a collective's result, whatever the timing.
#pragma once

#include <string>
#include <vector>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"

namespace duet {

// What all ranks enqueue for a collective.
struct CollectiveSchedule {
  Collective collective;
  std::vector<RankSchedule> ranks;
  std::vector<bool> in_place;  // by rank
};

// Calls in the order in which every rank makes them, on one stream, each of one of the schedules.
// Calls of one schedule have the same buffers and semaphores; other schedules have their own. Lanes
// are shared by all.
struct CheckedCalls {
  std::vector<const CollectiveSchedule*> order;
  bool shared_memory = false;  // all have the same semaphores and staging slots: ScheduleMemoryPool
  bool alternate = false;      // Neighbors::alternating: two schedules in turns
};

// The first fault, in words that name ranks, steps and places; "" if there is none. Then, for all
// interleavings of ranks and lanes:
// - every step ends: also where all lanes of a device run through one queue, in the order of
//   enqueueing;
// - each wait takes the signal that is meant for it, and all semaphores have their initial values
//   when no rank is in a call;
// - of two accesses to a byte of which one writes, one has ended before the other begins; nothing
//   reads what was not written;
// - when a rank's call has ended, the receive buffer has the collective's result, of which every
//   byte was written once; the caller may write both buffers before each call and read the result
//   after it;
// - a rank accesses of other ranks only what its plan maps, and knows what they read of its own;
// - every lane forks from the caller's stream and joins it again by `after` alone, as a captured
//   call needs it.
std::string fault_of(const CheckedCalls& calls);

// Of a rank's part alone: places, semaphores and steps that exist, kernels of a form that devices
// have, lanes that fork and join.
std::string fault_of_form(const RankSchedule& schedule);

// Two calls in a row, which find what one finds and what is left between calls; of one that
// alternates two and two. Of a kernel that sends packets also three calls by these: the third one
// uses what the first one has left.
std::string fault_of(const CollectiveSchedule& schedule);

}  // namespace duet
