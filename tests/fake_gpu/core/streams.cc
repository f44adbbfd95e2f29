#include "fake_gpu/core/streams.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace fake_gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(200);
constexpr auto kPause = std::chrono::microseconds(50);

// Polls as a GPU does, and after a while less often.
void wait_until_ready(const std::function<bool()>& ready) {
  const auto begin = Clock::now();
  while (!ready()) {
    if (Clock::now() - begin < kSpin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

// The queues of a device that still have a stream or work. Never destroyed: threads may outlive
// main().
struct Queues {
  std::mutex mutex;
  std::map<int, std::vector<std::weak_ptr<Queue>>> by_device;
};
Queues& queues() {
  static auto* const all = new Queues;
  return *all;
}

void remember(int device, const std::shared_ptr<Queue>& queue) {
  const std::lock_guard<std::mutex> lock(queues().mutex);
  auto& list = queues().by_device[device];
  list.erase(std::remove_if(list.begin(), list.end(),
                            [](const std::weak_ptr<Queue>& each) { return each.expired(); }),
             list.end());
  list.push_back(queue);
}

std::vector<std::shared_ptr<Queue>> queues_of(int device) {
  const std::lock_guard<std::mutex> lock(queues().mutex);
  std::vector<std::shared_ptr<Queue>> live;
  for (const auto& each : queues().by_device[device]) {
    if (auto queue = each.lock()) live.push_back(std::move(queue));
  }
  return live;
}

}  // namespace

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

void Queue::start() {
  std::thread([queue = shared_from_this()] { queue->work(); }).detach();
}

void Queue::push(Operation operation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  operations_.push_back(std::move(operation));
  changed_.notify_one();
}

void Queue::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

bool Queue::idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return operations_.empty();
}

void Queue::work() {
  while (true) {
    Operation* first = nullptr;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !operations_.empty() || closed_; });
      if (operations_.empty()) return;
      first = &operations_.front();  // stays in place while others are pushed
    }
    if (first->ready) wait_until_ready(first->ready);
    if (first->run) first->run();
    const Operation done = std::move(*first);  // destroyed without the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    operations_.pop_front();
  }
}

bool wait_for_device(int device, double seconds) {
  const double end = now() + seconds;
  for (const std::shared_ptr<Queue>& queue : queues_of(device)) {
    while (!queue->idle()) {
      if (now() > end) return false;
      std::this_thread::sleep_for(kPause);
    }
  }
  return true;
}

hipStream_t make_stream(int device) {
  auto* const stream = new ihipStream_t;
  stream->device = device;
  stream->queue = std::make_shared<Queue>();
  remember(device, stream->queue);
  stream->queue->start();
  return stream;
}

void destroy_stream(hipStream_t stream) {
  stream->queue->close();
  delete stream;
}

hipStream_t default_stream(int device) {
  static auto* const streams = new std::map<int, hipStream_t>;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  hipStream_t& stream = (*streams)[device];
  if (stream == nullptr) stream = make_stream(device);
  return stream;
}

hipError_t enqueue(hipStream_t stream, std::function<void()> work) {
  if (stream->capture == nullptr) {
    stream->queue->push({std::move(work), {}});
    return hipSuccess;
  }
  Capture& capture = *stream->capture;
  if (capture.invalid) return hipErrorStreamCaptureInvalidated;
  capture.nodes.push_back(std::move(work));
  ++stream->before[stream];
  ++capture.all[stream];
  return hipSuccess;
}

}  // namespace fake_gpu
