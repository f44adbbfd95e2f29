#pragma once

#include <string>

#include "team/processes.h"

namespace duet {

// Keeps the processes of a run at the same case. Decisions from process 0's files, and an interrupt
// in any process, apply to all processes. next() and decided() are collective: all processes call
// them in the same order.
class Lockstep {
 public:
  // nullptr: the run has this process alone, and its own decisions apply.
  explicit Lockstep(Processes* processes);

  struct Step {
    bool stop = false;  // all processes stop if one wants to
    bool done = false;  // process 0 decides: the case has a record already
  };

  // Called before each case with its key and this process's wishes; returns what all processes do.
  // Throws PeerFailed naming a process that failed or is gone, and UsageError if processes have
  // different cases next.
  Step next(const std::string& key, const Step& mine);

  // Process 0's value, in all processes. `what` names the decision in errors.
  bool decided(bool mine, const std::string& what);
  int decided(int mine, const std::string& what);

  // Throws PeerFailed if a process is gone, so that its end is not recorded as the case's failure.
  // `seen` is the error of the case in this process, "" if none; it is appended to the message.
  void require_all(const std::string& seen) const;

 private:
  Processes* processes_;
};

}  // namespace duet
