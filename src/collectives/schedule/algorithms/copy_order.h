#pragma once

#include <array>
#include <map>
#include <vector>

#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"

namespace duet {

// Copies on several lanes of a rank. In order, one begins only after the one before it has begun,
// whichever lane that is on: behind one link copy engines run one copy after the other, and lanes
// only hide the time between two. The order of copies must then be fixed: ranks that push in
// different orders would push to the same receiver at the same time, each at half the rate.
class CopyOrder {
 public:
  // On lanes [first_lane, first_lane + lanes). The order is only for speed, but where a semaphore
  // is awaited on several lanes: without it a later wait would take the signal that an earlier one
  // waits for.
  CopyOrder(ScheduleWriter& writer, int first_lane, int lanes, bool in_order)
      : writer_(writer), first_lane_(first_lane), lanes_(lanes), in_order_(in_order) {}

  // Adds a step, whose lane is chosen here: in order, one lane after the other, else each rank has
  // its lane, the copy being to or from the rank that is `distance` away. An empty step only takes
  // its turn.
  void add(Step step, int distance);

  // The result needs the order: by it copies wait for what an earlier one has waited for.
  void set_needed();

 private:
  void note(const Step& start);

  ScheduleWriter& writer_;
  const int first_lane_, lanes_;
  const bool in_order_;
  bool is_needed_ = false;
  int added_ = 0;
  std::vector<int> starts_;
  std::map<std::array<int, 3>, int> awaited_on_;  // lane, by group, peer and index of a semaphore
};

}  // namespace duet
