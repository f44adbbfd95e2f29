#pragma once

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

}  // namespace duet
