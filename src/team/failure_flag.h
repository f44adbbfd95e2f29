#pragma once

#include <atomic>

#include "team/team.h"

namespace duet {

// Whether a rank or another process has failed since this was made.
class FailureFlag {
 public:
  // The team must outlive it. Outside of each(): a failure of the last one does not count.
  explicit FailureFlag(Team& team)
      : team_(team), number_(team.on_failure([this](const std::string&) { failed_ = true; })) {
    // In one process it was told of a failure of the last each(). Between processes another epoch
    // has begun since, and what it was told of is new.
    if (team.processes() == nullptr) failed_ = false;
  }
  ~FailureFlag() { team_.forget(number_); }
  FailureFlag(const FailureFlag&) = delete;
  FailureFlag& operator=(const FailureFlag&) = delete;

  bool failed() const { return failed_; }

 private:
  Team& team_;
  std::atomic<bool> failed_{false};
  int number_;
};

}  // namespace duet
