#include "device/host/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "core/clock.h"
#include "core/thread.h"

namespace duet::host {
namespace {

constexpr std::chrono::microseconds kPollPeriod{50};
constexpr std::chrono::milliseconds kFinishPeriod{1};  // only queues that become empty notify

}  // namespace

bool Queue::is_ready(Operation::Runs runs) const {
  if (running || operations.empty() || operations.front().runs != runs) return false;
  const auto& ready = operations.front().ready;
  return !ready || ready();
}

// An operation of one device may make one of another ready.
void MachineSync::advance(const Workers* own) {
  bool again = true;
  while (again) {
    again = false;
    for (Workers* pool : pools_) again = pool->run_at_once() || again;
  }
  for (Workers* pool : pools_) {
    if (pool != own) pool->wake_if_needed();
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
  queue->changed.wait(lock, [&] { return !queue->running; });
  queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end());
}

// An operation behind another one is found when that one ends.
void Workers::push(Queue* queue, Operation operation) {
  const std::lock_guard<std::mutex> lock(sync_.mutex);
  if (operation.polled) ++polled_;
  queue->operations.push_back(std::move(operation));
  if (queue->operations.size() > 1) return;
  if (!queue->is_ready(Operation::Runs::at_once)) return wake_if_needed();
  if (!queue->operations.front().body) return end_first(*queue);  // a wait makes nothing ready
  sync_.advance();
}

bool Workers::wait_for_room(Queue& queue, std::size_t most, double deadline_seconds) {
  std::unique_lock<std::mutex> lock(sync_.mutex);
  const auto is_copy = [](const Operation& each) { return each.copies; };
  return queue.changed.wait_for(lock, time_limit(deadline_seconds), [&] {
    const auto& operations = queue.operations;
    return std::count_if(operations.begin(), operations.end(), is_copy) <
           static_cast<std::ptrdiff_t>(most);
  });
}

bool Workers::finish(double deadline_seconds) {
  std::unique_lock<std::mutex> lock(sync_.mutex);
  const auto idle = [this] {
    return std::all_of(queues_.begin(), queues_.end(), [](const Queue* queue) {
      if (queue->operations.empty()) return true;
      return queue->operations.front().awaits_event && !queue->operations.front().ready();
    });
  };
  const auto end = std::chrono::steady_clock::now() + time_limit(deadline_seconds);
  while (true) {
    if (polled_ > 0) sync_.advance();
    if (idle()) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    sync_.emptied.wait_for(lock, kFinishPeriod);
  }
}

void Workers::parallel(int parts, const std::function<void(int)>& part) {
  int left = 0;  // guarded by the lock
  std::condition_variable done;
  int handed = 1;  // parts given to workers or, the first one, to the caller
  std::unique_lock<std::mutex> lock(sync_.mutex);
  try {
    for (; handed < parts; ++handed) {
      parts_.push_back([this, handed, &part, &left, &done] {
        part(handed);
        const std::lock_guard<std::mutex> again(sync_.mutex);
        if (--left == 0) done.notify_one();
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
    if (!take_part(lock)) done.wait(lock);
  }
}

// A worker that is woken takes one operation or part, and wakes another one for what is left.
void Workers::wake_if_needed() {
  const auto ready = static_cast<std::size_t>(std::count_if(
      queues_.begin(), queues_.end(),
      [](const Queue* queue) { return queue->is_ready(Operation::Runs::by_worker); }));
  const std::size_t needed = parts_.size() + ready + (must_poll() ? 1 : 0);
  if (needed > woken_) wake_one();
}

void Workers::wake_one() {
  for (auto& worker : workers_) {
    if (!worker->idle) continue;
    worker->idle = false;
    worker->woken = true;
    ++woken_;
    worker->wake.notify_one();
    return;
  }
}

bool Workers::run_at_once() {
  bool any = false;
  for (Queue* queue : queues_) {
    while (queue->is_ready(Operation::Runs::at_once)) {
      if (const auto& body = queue->operations.front().body) body();
      end_first(*queue);
      any = true;
    }
  }
  return any;
}

void Workers::end_first(Queue& queue) {
  if (queue.operations.front().polled) --polled_;
  const bool copied = queue.operations.front().copies;
  queue.operations.pop_front();
  if (queue.operations.empty()) sync_.emptied.notify_all();
  if (queue.operations.empty() || copied) queue.changed.notify_all();
}

Queue* Workers::next_queue() {
  Queue* best = nullptr;
  for (Queue* queue : queues_) {
    if (!queue->is_ready(Operation::Runs::by_worker)) continue;
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
  wake_if_needed();
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
  wake_if_needed();
  lock.unlock();
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (queue->error == nullptr) queue->error = error;
  queue->running = false;
  end_first(*queue);
  // It may have written a semaphore that another queue waits for. A queue of this pool needs no
  // other worker: this one takes it next.
  sync_.advance(this);
  return true;
}

void Workers::loop(Worker& self) {
  bind_to(cores_);
  std::unique_lock<std::mutex> lock(sync_.mutex);
  while (!stop_) {
    if (polled_ > 0 && run_at_once()) sync_.advance(this);
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
  const auto over = [&] { return stop_ || self.woken; };
  if (must_poll()) {
    polling_ = true;
    self.wake.wait_for(lock, kPollPeriod, over);
    polling_ = false;
  } else {
    self.wake.wait(lock, over);
  }
  self.idle = false;
  if (std::exchange(self.woken, false)) --woken_;
}

}  // namespace duet::host
