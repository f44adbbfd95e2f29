#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace duet {

// Functions to call when something fails.
class FailureCallbacks {
 public:
  using Callback = std::function<void(const std::string& reason)>;

  // If `reason` returns one, a failure came first: the callback is called at once. Returns a number
  // for remove().
  int add(Callback callback, const std::function<std::string()>& reason);
  // When this returns, the callback does not run and will not run. Not to be called in a callback.
  void remove(int number);
  void call(const std::string& reason);

 private:
  std::mutex mutex_;  // held while a callback runs
  std::map<int, Callback> callbacks_;
  int made_ = 0;
};

// The first failed rank of this process, and the callbacks to notify of it.
class Failures {
 public:
  // As Team's of the same names.
  int on_failure(std::function<void(const std::string&)> notify);
  void forget(int number);
  std::string failure() const;

  // Notifies the callbacks of the first failure since clear(); false for any further one.
  bool fail(int rank, const std::string& reason);
  bool any() const { return any_; }  // without a lock, for conditions that are asked often
  int failed_rank() const;           // the first; -1: none has failed
  void clear();

 private:
  FailureCallbacks callbacks_;
  mutable std::mutex mutex_;  // guards what follows
  std::atomic<bool> any_{false};
  int rank_ = -1;
  std::string reason_;
};

}  // namespace duet
