// Callbacks, and the first reason.
#include "team/failures.h"

#include <utility>

namespace duet {

int Failures::on_failure(std::function<void(const std::string&)> tell) {
  const std::lock_guard<std::mutex> telling(telling_);
  const std::string reason = failure();
  if (!reason.empty()) tell(reason);
  callbacks_.emplace(++callbacks_made_, std::move(tell));
  return callbacks_made_;
}

void Failures::forget(int number) {
  const std::lock_guard<std::mutex> telling(telling_);
  callbacks_.erase(number);
}

std::string Failures::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reason_;
}

int Failures::failed_rank() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return rank_;
}

void Failures::fail(int rank, const std::string& reason) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (rank_ >= 0) return;
    rank_ = rank;
    reason_ = reason;
  }
  const std::lock_guard<std::mutex> telling(telling_);
  for (const auto& [number, callback] : callbacks_) callback(reason);
}

void Failures::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  reason_.clear();
  rank_ = -1;
}

}  // namespace duet
