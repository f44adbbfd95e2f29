#include "fake_gpu/core/streams.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace fake_gpu {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr microseconds kSpin{200}, kPause{50};

std::uint64_t unused_stream_id() {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
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

void wait_until(const std::function<bool()>& holds) {
  const auto begin = Clock::now();
  while (!holds()) {
    if (Clock::now() - begin < kSpin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

void Operation::perform() const {
  if (ready) wait_until(ready);
  if (run) run();
}

void Queue::start() {
  std::thread([queue = shared_from_this()] { queue->work(); }).detach();
}

void Queue::push(Operation operation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  operations_.push_back(std::move(operation));
  changed_.notify_all();
}

void Queue::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool Queue::idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return operations_.empty();
}

void Queue::synchronise() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return operations_.empty(); });
}

void Queue::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !operations_.empty() || closed_; });
    if (operations_.empty()) return;
    Operation& first = operations_.front();  // stays in place while others are pushed
    lock.unlock();
    if (delay_ > 0) std::this_thread::sleep_for(microseconds(random_() % (delay_ + 1)));
    first.perform();
    first = {};
    lock.lock();
    operations_.pop_front();
    changed_.notify_all();
  }
}

Stream::Stream(int of_device, unsigned delay_microseconds, unsigned seed)
    : device(of_device),
      id(unused_stream_id()),
      queue_(std::make_shared<Queue>(delay_microseconds, seed)) {
  remember(device, queue_);
  queue_->start();
}

Stream::~Stream() { queue_->close(); }

Stream& Stream::of(void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) != 2) return *static_cast<Stream*>(handle);
  static thread_local Stream of_thread(0);
  return of_thread;
}

void Stream::enqueue(std::function<void()> run, std::function<bool()> ready) {
  Operation operation{std::move(run), std::move(ready)};
  const Capture captured = capture();
  if (captured.graph == nullptr) return queue_->push(std::move(operation));
  if (captured.graph->invalid()) throw CaptureError(Misuse::invalidated);
  captured.graph->add(captured.branch, [kept = std::move(operation)] { kept.perform(); });
}

void Stream::begin_capture() { join(std::make_shared<Graph>()); }

std::shared_ptr<Graph> Stream::end_capture() {
  const auto [graph, branch] = capture();
  if (graph == nullptr || branch != 0) throw CaptureError(Misuse::unmatched);
  graph->end();
  if (graph->invalid()) throw CaptureError(Misuse::invalidated);
  if (!graph->is_joined()) throw CaptureError(Misuse::unjoined);
  return graph;
}

Stream::Capture Stream::capture() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture_.graph != nullptr && capture_.graph->ended()) capture_ = {};
  return capture_;
}

void Stream::join(const std::shared_ptr<Graph>& graph) {
  const std::lock_guard<std::mutex> lock(mutex_);
  capture_ = {graph, graph->add_branch()};
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

void Mark::reach() {
  seconds = now();
  reached = true;
}

void Event::record(Stream& stream, std::function<void()> before) {
  const Stream::Capture captured = stream.capture();
  if (captured.graph == nullptr) {
    stream.enqueue([mark = begin_record(), before = std::move(before)] {
      if (before) before();
      mark->reach();
    });
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  graph_ = captured.graph;
  behind_ = captured.position();
}

void Event::wait(Stream& stream, std::function<void()> then) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Stream::Capture captured = stream.capture();
  if (captured.graph == nullptr && graph_ != nullptr && !graph_->ended()) {
    stream.join(graph_);
    captured = stream.capture();
  }
  if (captured.graph != graph_) {
    if (captured.graph != nullptr) captured.graph->invalidate();
    throw CaptureError(Misuse::isolation);
  }
  if (graph_ != nullptr) return graph_->add_wait(captured.branch, behind_);
  if (last_ == nullptr) return;
  stream.enqueue(std::move(then), [mark = last_] { return mark->reached.load(); });
}

bool Event::captured() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return graph_ != nullptr;
}

bool Event::done() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return graph_ != nullptr || last_ == nullptr || last_->reached;
}

std::shared_ptr<Mark> Event::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

std::shared_ptr<Mark> Event::begin_record() {
  const std::lock_guard<std::mutex> lock(mutex_);
  graph_ = nullptr;
  last_ = std::make_shared<Mark>();
  return last_;
}

}  // namespace fake_gpu
