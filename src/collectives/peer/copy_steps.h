// The copies of a plan and the semaphores around them, dealt out to a few streams.
#pragma once

#include <memory>
#include <vector>

#include "collectives/peer/lanes.h"

namespace duet {

// A lane waits for semaphores (which are 0 again then), copies, and sets semaphores to 1. Lane 0 is
// the caller's stream, lane i > 0 is number i - 1 of the lanes beside it.
struct CopyStep {
  int lane = 0;
  std::vector<Semaphore> waits;
  std::vector<Copy> copies;
  std::vector<Semaphore> signals;
};

class CopySteps {
 public:
  // `lanes`, the caller's stream among them. In order: no step begins before the one before it has
  // come to its copies, whichever lane it is on. Behind one link copy engines take one copy after
  // the other; the lanes then only hide what lies between two, and which comes first must not
  // depend on chance: ranks whose pushes go in different orders meet at the same receiver,
  // where each gets half of the rate.
  CopySteps(Device& device, int lanes, bool in_order);

  int lanes() const { return static_cast<int>(started_.size()); }
  bool in_order() const { return in_order_; }
  // Where the next step goes, a copy to the `step`th rank from here on, from 1: in order, one lane
  // after the other; else each rank has its lane.
  int lane_for(int step) const;
  void add(CopyStep step);

  std::size_t size() const { return steps_.size(); }

  void enqueue(Stream& main, Lanes& lanes) { enqueue(main, lanes, 0, size()); }
  // Steps `begin` to `end` alone; a call enqueues all of them in the end, one after the other.
  void enqueue(Stream& main, Lanes& lanes, std::size_t begin, std::size_t end);

 private:
  struct Step {
    int lane;
    Handshake before;  // its waits
    std::vector<Copy> copies;
    Handshake after;  // its signals
  };

  bool in_order_;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<Event>> started_;  // by lane: its last step has come to its copies
};

}  // namespace duet
