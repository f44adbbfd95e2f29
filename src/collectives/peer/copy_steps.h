// The copies of a plan and the flags around them, dealt out to a few streams.
#pragma once

#include <memory>
#include <vector>

#include "collectives/peer/lanes.h"

namespace duet {

// A lane waits for flags (which are 0 again then), copies, and sets flags to 1. Lane 0 is the
// caller's stream, lane i > 0 is number i - 1 of the lanes beside it.
struct CopyStep {
  int lane = 0;
  std::vector<Flag> waits;
  std::vector<Copy> copies;
  std::vector<Flag> signals;
};

class CopySteps {
 public:
  // `lanes`, the caller's stream among them. In order: no step begins before the one before it has
  // come to its copies, whichever lane it is on. Behind one link copy engines take one copy after
  // the other; the lanes then only hide what lies between two, and which comes first must not
  // depend on chance: on 4 x H200 ranks whose pushes went in different orders met at the same
  // receiver, and a reduction of 1 GiB had half of its rate.
  CopySteps(Device& device, int lanes, bool in_order);

  int lanes() const { return static_cast<int>(started_.size()); }
  bool in_order() const { return in_order_; }
  // Where the next step goes if its turn decides: in order, one lane after the other.
  int next_lane() const { return static_cast<int>(steps_.size()) % lanes(); }
  void add(CopyStep step) { steps_.push_back(std::move(step)); }

  std::size_t size() const { return steps_.size(); }

  void enqueue(Stream& main, Lanes& lanes) { enqueue(main, lanes, 0, size()); }
  // Steps `begin` to `end` alone; a call enqueues all of them in the end, one after the other.
  void enqueue(Stream& main, Lanes& lanes, std::size_t begin, std::size_t end);

 private:
  bool in_order_;
  std::vector<CopyStep> steps_;
  std::vector<std::unique_ptr<Event>> started_;  // by lane: its last step has come to its copies
};

}  // namespace duet
