#include "nccl_shim/host/stream.h"

#include <chrono>
#include <utility>

namespace duet::nccl_shim::host {

HostStream::HostStream(unsigned delay_microseconds, unsigned seed)
    : delay_(delay_microseconds), random_(seed), thread_([this] { run(); }) {}

HostStream::~HostStream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HostStream::enqueue(std::function<void()> item) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (capturing_) {
      captured_.push_back(std::move(item));
      return;
    }
    items_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void HostStream::synchronise() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return items_.empty() && !busy_; });
}

void HostStream::begin_capture() {
  const std::lock_guard<std::mutex> lock(mutex_);
  capturing_ = true;
}

std::vector<std::function<void()>> HostStream::end_capture() {
  const std::lock_guard<std::mutex> lock(mutex_);
  capturing_ = false;
  return std::exchange(captured_, {});
}

bool HostStream::capturing() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return capturing_;
}

void HostStream::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !items_.empty(); });
    if (items_.empty()) return;
    const std::function<void()> item = std::move(items_.front());
    items_.pop_front();
    busy_ = true;
    lock.unlock();
    if (delay_ > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % (delay_ + 1)));
    item();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void HostEvent::record(HostStream& stream) {
  const auto done = std::make_shared<Done>(false);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = done;
  }
  stream.enqueue([done] { done->store(true, std::memory_order_release); });
}

void HostEvent::wait(HostStream& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (last_ == nullptr) return;
  stream.enqueue([done = last_] {
    while (!done->load(std::memory_order_acquire)) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
}

bool HostEvent::done() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_ == nullptr || last_->load(std::memory_order_acquire);
}

}  // namespace duet::nccl_shim::host
