// The copies of wires, on lanes.
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
  // before it has, whichever lane it is on.
  CopySteps(Device& device, int lanes, bool in_order);

  void add(CopyStep step);

  std::size_t size() const { return steps_.size(); }

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
