#include "team/failure_callbacks.h"

#include <utility>

namespace duet {

int FailureCallbacks::add(Callback callback, const std::function<std::string()>& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string already = reason();
  if (!already.empty()) callback(already);
  callbacks_.emplace(++made_, std::move(callback));
  return made_;
}

void FailureCallbacks::remove(int number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  callbacks_.erase(number);
}

void FailureCallbacks::call(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [number, callback] : callbacks_) callback(reason);
}

}  // namespace duet
