// The copies of plans that enqueue themselves, on lanes.
#pragma once

#include <memory>
#include <vector>

#include "collectives/session/lanes.h"

namespace duet {

// A lane waits for semaphores, which sets them back to 0, copies, and signals semaphores. Lane 0 is
// the caller's stream, lane i > 0 is SideStreams::at(i - 1).
struct CopyStep {
  int lane = 0;
  std::vector<Semaphore> waits;
  std::vector<Copy> copies;
  std::vector<Semaphore> signals;
};

class CopySteps {
 public:
  // `lanes` counts the caller's stream. In order: a step begins its copies only after the step
  // before it has, whichever lane it is on. Behind one link copy engines run one copy after the
  // other, and lanes only hide the time between two copies. The order of copies must then be fixed:
  // ranks that push in different orders would push to the same receiver at the same time, each at
  // half the rate.
  CopySteps(Device& device, int lanes, bool in_order);

  int lanes() const { return static_cast<int>(started_.size()); }
  bool in_order() const { return in_order_; }
  // The lane of the next step, a copy to the `step`th rank after this one (from 1): in order, one
  // lane after the other; else each rank has its lane.
  int lane_for(int step) const;
  void add(CopyStep step);

  std::size_t size() const { return steps_.size(); }

  void enqueue(Stream& main, SideStreams& lanes) { enqueue(main, lanes, 0, size()); }
  // Enqueues only the steps [begin, end); a call must enqueue all steps, in order.
  void enqueue(Stream& main, SideStreams& lanes, std::size_t begin, std::size_t end);

 private:
  struct PreparedStep {
    int lane;
    Handshake before;  // its waits
    std::vector<Copy> copies;
    Handshake after;  // its signals
  };

  bool in_order_;
  std::vector<PreparedStep> steps_;
  std::vector<std::unique_ptr<Event>> started_;  // by lane: its last step begins to copy
};

}  // namespace duet
