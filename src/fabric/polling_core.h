// The core that a thread polls on: shared with others as well as polling allows.
#pragma once

#include <functional>

namespace duet {

class PollingCore {
 public:
  // To be called after each poll. Leaves the core to others after 15 us in which none found
  // anything: where processes and the kernel's network share cores, who only polls holds up who
  // moves.
  void polled(bool found);

  // Polls until nothing else has run on the core for a fifth of a millisecond, 10 ms at most.
  // Threads that have just been woken, as by a barrier, may share a core while another is idle,
  // until the kernel moves one; where that takes longer, they still share it afterwards.
  void settle(const std::function<void()>& poll);

 private:
  double idle_since_ = 0;
  int polls_ = 0;
  bool found_ = false;  // since the last glance at the clock
};

}  // namespace duet
