// The core that a thread polls on: held while it is its own, left to others while it is not.
#pragma once

#include <optional>
#include <vector>

namespace duet {

class PollingCore {
 public:
  // Nothing: processes outnumber the cores, and the thread polls wherever it is.
  explicit PollingCore(std::optional<int> core) : core_(core) {}
  ~PollingCore() { release(); }
  PollingCore(const PollingCore&) = delete;
  PollingCore& operator=(const PollingCore&) = delete;

  // Binds this thread to the core until release(), which must come from the same thread: threads
  // that have just been woken, as by a barrier, may share a core for 25 ms while another is idle.
  // Threads made meanwhile are bound as well.
  void hold();
  void release();

  // To be called after each poll. Leaves the core to others after 15 us in which none found
  // anything: where processes and the kernel's network share cores, who only polls holds up who
  // moves.
  void polled(bool found);

 private:
  std::optional<int> core_;
  std::vector<int> before_;  // what the thread might run on before it was bound; empty: it is not
  double idle_since_ = 0;
  int polls_ = 0;
  bool found_ = false;  // since the last glance at the clock
};

}  // namespace duet
