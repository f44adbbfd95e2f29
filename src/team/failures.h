#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "team/failure_callbacks.h"

namespace duet {

// The first failed rank of this process, and the callbacks to notify of it.
class Failures {
 public:
  // As Team's of the same names.
  int on_failure(std::function<void(const std::string&)> notify);
  void forget(int number);
  std::string failure() const;

  // Notifies the callbacks of the first failure since clear(); false for any further one.
  bool fail(int rank, const std::string& reason);
  int failed_rank() const;  // the first; -1: none has failed
  void clear();

 private:
  FailureCallbacks callbacks_;
  mutable std::mutex mutex_;  // guards what follows
  int rank_ = -1;
  std::string reason_;
};

}  // namespace duet
