#include "device/host/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "core/affinity.h"
#include "core/clock.h"
#include "core/thread.h"

namespace duet::host {
namespace {

constexpr std::chrono::microseconds kPollPeriod{50};
constexpr std::chrono::milliseconds kFinishPeriod{1};  // no end of an operation is notified alone

}  // namespace

void MachineSync::poke(const Workers* own) {
  for (Workers* pool : pools_) {
    if (pool == own) continue;
    if (!pool->parts_.empty() || pool->next_queue() != nullptr) pool->wake_one();
  }
}

Workers::Workers(MachineSync& sync, std::vector<int> cores, const std::string& device)
    : sync_(sync), cores_(std::move(cores)) {
  // At least two, so that a copy can run beside a task on a device with a single core.
  const int count = std::max(2, this->cores());
  try {
    for (int i = 0; i < count; ++i) {
      workers_.push_back(std::make_unique<Worker>());
      Worker& worker = *workers_.back();
      worker.thread = start_thread(fmt::format("thread {} of {} of {}", i + 1, count, device),
                                   [this, &worker] { loop(worker); });
    }
    const std::lock_guard<std::mutex> lock(sync_.mutex);
    sync_.pools_.push_back(this);
  } catch (...) {
    stop();
    throw;
  }
}

void Workers::stop() {
  {
    const std::lock_guard<std::mutex> lock(sync_.mutex);
    stop_ = true;
    for (auto& worker : workers_) worker->wake.notify_one();
  }
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

Workers::~Workers() {
  stop();
  const std::lock_guard<std::mutex> lock(sync_.mutex);
  auto& pools = sync_.pools_;
  pools.erase(std::remove(pools.begin(), pools.end(), this), pools.end());
}

void Workers::add(Queue* queue) {
  const std::lock_guard<std::mutex> lock(sync_.mutex);
  queues_.push_back(queue);
}

void Workers::remove(Queue* queue) {
  std::unique_lock<std::mutex> lock(sync_.mutex);
  auto& operations = queue->operations;
  const auto first = operations.begin() + (queue->running ? 1 : 0);
  polled_ -=
      std::count_if(first, operations.end(), [](const Operation& each) { return each.polled; });
  operations.erase(first, operations.end());
  sync_.changed.wait(lock, [&] { return !queue->running; });
  queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end());
}

void Workers::push(Queue* queue, Operation operation) {
  const std::lock_guard<std::mutex> lock(sync_.mutex);
  if (operation.polled) ++polled_;
  queue->operations.push_back(std::move(operation));
  if (next_queue() != nullptr || must_poll()) wake_one();
}

bool Workers::wait_for_room(const Queue& queue, std::size_t most, double deadline_seconds) {
  std::unique_lock<std::mutex> lock(sync_.mutex);
  const auto is_copy = [](const Operation& each) { return each.copies; };
  return sync_.changed.wait_for(lock, time_limit(deadline_seconds), [&] {
    const auto& operations = queue.operations;
    return std::count_if(operations.begin(), operations.end(), is_copy) <
           static_cast<std::ptrdiff_t>(most);
  });
}

bool Workers::finish(double deadline_seconds) {
  std::unique_lock<std::mutex> lock(sync_.mutex);
  const auto idle = [this] {
    return next_queue() == nullptr &&
           std::none_of(queues_.begin(), queues_.end(),
                        [](const Queue* queue) { return queue->running; });
  };
  const auto end = std::chrono::steady_clock::now() + time_limit(deadline_seconds);
  while (!idle()) {
    if (std::chrono::steady_clock::now() > end) return false;
    sync_.changed.wait_for(lock, kFinishPeriod);
  }
  return true;
}

void Workers::parallel(int parts, const std::function<void(int)>& part) {
  int left = 0;    // guarded by the lock
  int handed = 1;  // parts given to workers or, the first one, to the caller
  std::unique_lock<std::mutex> lock(sync_.mutex);
  try {
    for (; handed < parts; ++handed) {
      parts_.push_back([this, handed, &part, &left] {
        part(handed);
        const std::lock_guard<std::mutex> done(sync_.mutex);
        if (--left == 0) sync_.changed.notify_all();
      });
      ++left;
      wake_one();
    }
  } catch (const std::bad_alloc&) {
    // The caller runs the parts that could not be given to workers.
  }
  lock.unlock();
  part(0);
  for (int own = handed; own < parts; ++own) part(own);
  lock.lock();
  while (left > 0) {
    if (!take_part(lock)) sync_.changed.wait(lock);
  }
}

void Workers::wake_one() {
  for (auto& worker : workers_) {
    if (!worker->idle) continue;
    worker->idle = false;
    worker->wake.notify_one();
    return;
  }
}

Queue* Workers::next_queue() {
  Queue* best = nullptr;
  for (Queue* queue : queues_) {
    if (queue->running || queue->operations.empty()) continue;
    const auto& ready = queue->operations.front().ready;
    if (ready && !ready()) continue;
    if (best == nullptr || queue->priority > best->priority ||
        (queue->priority == best->priority && queue->last_served < best->last_served)) {
      best = queue;
    }
  }
  return best;
}

bool Workers::take_part(std::unique_lock<std::mutex>& lock) {
  if (parts_.empty()) return false;
  const std::function<void()> part = std::move(parts_.front());
  parts_.pop_front();
  lock.unlock();
  part();
  lock.lock();
  return true;
}

bool Workers::take_operation(std::unique_lock<std::mutex>& lock) {
  Queue* queue = next_queue();
  if (queue == nullptr) return false;
  queue->running = true;
  queue->last_served = ++served_;
  const std::function<void()> body = std::move(queue->operations.front().body);
  if (next_queue() != nullptr || must_poll()) wake_one();
  lock.unlock();
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (queue->error == nullptr) queue->error = error;
  if (queue->operations.front().polled) --polled_;
  const bool copied = queue->operations.front().copies;
  queue->operations.pop_front();
  queue->running = false;
  // The operation may have reached an event or written a semaphore that another queue waits for. A
  // queue of this pool needs no other worker: this one takes it next.
  sync_.poke(this);
  if (queue->operations.empty() || copied) sync_.changed.notify_all();
  return true;
}

void Workers::loop(Worker& self) {
  bind_to(cores_);
  std::unique_lock<std::mutex> lock(sync_.mutex);
  while (!stop_) {
    if (take_part(lock) || take_operation(lock)) continue;
    self.idle = true;
    sleep(self, lock);
  }
}

// Whether a queue waits for a write of another process and no worker polls for it.
bool Workers::must_poll() const {
  if (polled_ == 0 || polling_) return false;
  return std::any_of(queues_.begin(), queues_.end(), [](const Queue* queue) {
    return !queue->running && !queue->operations.empty() && queue->operations.front().polled;
  });
}

void Workers::sleep(Worker& self, std::unique_lock<std::mutex>& lock) {
  const auto woken = [&] { return stop_ || !self.idle; };
  if (!must_poll()) return self.wake.wait(lock, woken);
  polling_ = true;
  self.wake.wait_for(lock, kPollPeriod, woken);
  polling_ = false;
  self.idle = false;
}

}  // namespace duet::host
