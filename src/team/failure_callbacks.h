// Functions to call when something fails.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace duet {

class FailureCallbacks {
 public:
  using Callback = std::function<void(const std::string& reason)>;

  // Calls it at once where `reason` gives one: the failure came first. The number is for remove().
  int add(Callback callback, const std::function<std::string()>& reason);
  // Returns when the callback does not run, and is not called any more. Not inside a callback.
  void remove(int number);
  void call(const std::string& reason);

 private:
  std::mutex mutex_;  // held while a callback runs
  std::map<int, Callback> callbacks_;
  int made_ = 0;
};

}  // namespace duet
