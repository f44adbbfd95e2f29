#include "nccl_shim/protocol/failure.h"

#include "core/error.h"

namespace duet::nccl_shim {

std::string Failure::error() const {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  return error_;
}

std::string Failure::warning() const {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  return warning_;
}

void Failure::set_error(const std::string& why) {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  if (error_.empty()) error_ = why;
}

void Failure::warn(const std::string& what) {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  warning_ = what;
}

void Failure::break_with(const std::string& why) {
  set_error(why);
  shared_.broken.store(1, std::memory_order_release);
  for (int rank = 0; rank < ranks_; ++rank)
    gate(rank).store(kGateClosed, std::memory_order_release);
}

void Failure::check_whole() const {
  const std::string why = error();
  if (!why.empty()) throw PeerFailed(why);
  if (shared_.broken.load(std::memory_order_acquire) != 0) {
    throw PeerFailed("another rank has failed or aborted");
  }
}

}  // namespace duet::nccl_shim
