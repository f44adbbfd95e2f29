// A command that needs two processes, started as one: it becomes both itself.
#pragma once

#include <sys/types.h>

namespace duet {

class BothEnds {
 public:
  // Where nothing says that this process is one of several: forks, and tells parent and child by
  // their environment that they are processes 0 and 1 of a run on this machine. Called before
  // threads are made and libraries loaded. Throws Error.
  BothEnds();
  // The parent waits for the child, which ends by itself when the parent's part of the run has.
  ~BothEnds();
  BothEnds(const BothEnds&) = delete;
  BothEnds& operator=(const BothEnds&) = delete;

 private:
  pid_t child_ = 0;  // 0: there is none, or this is it
};

}  // namespace duet
