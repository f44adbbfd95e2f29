#pragma once

#include <exception>
#include <functional>
#include <string>

#include "team/processes.h"

namespace duet {

// An error that all ranks of a call throw: no rank is still in the call, and all may go on. Such an
// error also has one of the types of core/error.h.
class OnAllRanks {
 public:
  virtual ~OnAllRanks() = default;
};

// How a rank's or process's share of a call ended, as text that goes to other processes.
struct ShareOutcome {
  std::string kind;  // "": fine; "peer": another process's failure; else the error's type
  std::string text;

  bool fine() const { return kind.empty(); }
};

// Null: fine.
ShareOutcome outcome_of(const std::exception_ptr& error);

// Throws the outcome's error, which is not fine, as one of its type.
[[noreturn]] void raise(const ShareOutcome& outcome);
// The same as one that all ranks throw.
[[noreturn]] void raise_on_all_ranks(const ShareOutcome& outcome);

// Collective: every process runs its share; returns when all have succeeded. If any throws, all
// throw: a process whose own share failed its own error, the others the error of the lowest such
// process, of the same type, with its name. Begins an epoch, so that later waits do not see the
// failure. `share` may wait for the other processes, but not on a device for what they would have
// enqueued: Unavailable is no failure (Processes::decline()).
void run_together(Processes& processes, const std::function<void()>& share);

}  // namespace duet
