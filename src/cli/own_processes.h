#pragma once

#include <sys/types.h>

#include <vector>

namespace duet {

// Starts the other processes of a run on this machine, for a command that needs several but was
// started without a launcher.
class OwnProcesses {
 public:
  // Does nothing if a launcher has started this process. Otherwise forks until there are `count`
  // processes and sets the environment variables of a launcher in each; the parent is process 0.
  // Must be called before threads are made and libraries loaded. Throws Error.
  explicit OwnProcesses(int count);
  // The parent waits for the other processes, which end with the run.
  ~OwnProcesses();
  OwnProcesses(const OwnProcesses&) = delete;
  OwnProcesses& operator=(const OwnProcesses&) = delete;

  // Do environment variables of a launcher say that this process is one of several?
  static bool launched();

 private:
  std::vector<pid_t> children_;  // empty in a child
};

}  // namespace duet
