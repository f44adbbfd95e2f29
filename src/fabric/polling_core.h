#pragma once

#include <optional>
#include <vector>

namespace duet {

// The core that a thread polls on: bound to it by hold(), and yielded while polls find nothing.
class PollingCore {
 public:
  // Without a core (more processes than cores) the thread is not bound.
  explicit PollingCore(std::optional<int> core) : core_(core) {}
  ~PollingCore() { release(); }
  PollingCore(const PollingCore&) = delete;
  PollingCore& operator=(const PollingCore&) = delete;

  // Binds this thread to the core until release(), which must come from the same thread: threads
  // that have just been woken, as by a barrier, may share a core for 25 ms while another is idle.
  // Threads made meanwhile are bound as well.
  void hold();
  void release();

  // To be called after each poll. Yields the core after 15 us in which no poll found anything:
  // where processes and the kernel's network code share cores, a thread that only polls delays the
  // others.
  void polled(bool found);

 private:
  std::optional<int> core_;
  std::vector<int> before_;  // what the thread might run on before it was bound; empty: it is not
  double idle_since_ = 0;
  int polls_ = 0;
  bool found_ = false;  // since the clock was last read
};

}  // namespace duet
