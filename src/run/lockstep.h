// Keeps the processes of a run at the same case: what is decided from process 0's files, or by an
// interruption in any of them, holds for all.
#pragma once

#include <string>

#include "team/processes.h"

namespace duet {

class Lockstep {
 public:
  // nullptr: this process alone, whose own decisions hold.
  explicit Lockstep(Processes* processes);

  struct Step {
    bool stop = false;  // all stop where any process wants to
    bool done = false;  // as process 0 says: the case has a record already
  };

  // Before each case, by all processes. Throws PeerFailed naming a process that failed or is gone,
  // and UsageError where another process has another case next.
  Step next(const std::string& key, const Step& mine);

  // What process 0 says.
  bool decided(bool mine, const std::string& what);
  int decided(int mine, const std::string& what);

  // Throws PeerFailed where a process is gone: what it did to a case is not the case's failure. Its
  // text ends with what was seen of it here.
  void require_all(const std::string& seen) const;

 private:
  Processes* processes_;
};

}  // namespace duet
