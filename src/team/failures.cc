#include "team/failures.h"

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

int Failures::on_failure(std::function<void(const std::string&)> notify) {
  return callbacks_.add(std::move(notify), [this] { return failure(); });
}

void Failures::forget(int number) { callbacks_.remove(number); }

std::string Failures::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reason_;
}

int Failures::failed_rank() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return rank_;
}

bool Failures::fail(int rank, const std::string& reason) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (rank_ >= 0) return false;
    rank_ = rank;
    reason_ = reason;
    any_ = true;
  }
  callbacks_.call(reason);
  return true;
}

void Failures::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  reason_.clear();
  rank_ = -1;
  any_ = false;
}

}  // namespace duet
