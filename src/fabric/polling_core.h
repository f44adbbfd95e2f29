#pragma once

#include <optional>
#include <string>
#include <vector>

namespace duet {

// The cores that a process may run on.
struct UsableCores {
  std::string machine;     // the same text in all processes of a machine
  std::vector<int> cores;  // as the kernel numbers them, the best ones first

  std::string text() const;
  static UsableCores parse(const std::string& text);  // the inverse of text()
};

// `cores` rotated so that `core` comes first; unchanged where it is not among them.
std::vector<int> beginning_with(int core, std::vector<int> cores);

// The cores of the calling thread. Cores of the NUMA node (-1: any) come first, and the first
// hardware thread of each physical core before any second one. Among equals the thread's present
// core and those after it come first, so that simultaneous runs do not all take the first cores.
UsableCores usable_cores(int numa_node);

// The core of process `self`, given all processes' cores by index: in the order of their indexes
// each process takes the first of its cores that is still free, so that no two share one. Nothing
// where a process of the same machine found none free.
std::optional<int> choose_core(const std::vector<UsableCores>& all, std::size_t self);

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
