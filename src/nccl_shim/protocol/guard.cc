#include "nccl_shim/protocol/guard.h"

#include <chrono>
#include <string>
#include <system_error>

#include "core/error.h"
#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim {

Guard::~Guard() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Guard::add(PairCopies& communicator) {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    throw Unavailable(std::string("a thread for communicators: ") + error.what());
  }
  communicators_.insert(&communicator);
}

void Guard::remove(PairCopies& communicator) {
  const std::lock_guard<std::mutex> lock(mutex_);
  communicators_.erase(&communicator);
}

void Guard::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    for (PairCopies* each : communicators_) each->watch();
    changed_.wait_for(lock, std::chrono::milliseconds(100));
  }
}

}  // namespace duet::nccl_shim
