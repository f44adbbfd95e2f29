// Who is told when a rank of this process has failed.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "team/failure_callbacks.h"

namespace duet {

class Failures {
 public:
  // As Team's of the same names.
  int on_failure(std::function<void(const std::string&)> tell);
  void forget(int number);
  std::string failure() const;

  // The first since clear() is told to all who asked; those that follow from it are not (false).
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
