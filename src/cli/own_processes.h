// A command that needs several processes, started as one: it becomes all of them itself.
#pragma once

#include <sys/types.h>

#include <vector>

namespace duet {

class OwnProcesses {
 public:
  // Where nothing says that this process is one of several: forks until there are `count`, and
  // tells each by its environment which one it is of a run on this machine; the parent is process
  // 0. Called before threads are made and libraries loaded. Throws Error.
  explicit OwnProcesses(int count);
  // The parent waits for the others, which end by themselves when its part of the run has.
  ~OwnProcesses();
  OwnProcesses(const OwnProcesses&) = delete;
  OwnProcesses& operator=(const OwnProcesses&) = delete;

  // Does something say that this process is one of several?
  static bool told();

 private:
  std::vector<pid_t> children_;  // empty in a child
};

}  // namespace duet
