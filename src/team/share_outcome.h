#pragma once

#include <exception>
#include <string>

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

}  // namespace duet
