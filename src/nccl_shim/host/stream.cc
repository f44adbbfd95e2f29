#include "nccl_shim/host/stream.h"

#include <chrono>
#include <utility>

#include "core/error.h"

namespace duet::nccl_shim::host {

namespace {

std::uint64_t next_stream_id() {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
}

}  // namespace

HostStream::HostStream(unsigned delay_microseconds, unsigned seed)
    : id(next_stream_id()), delay_(delay_microseconds), random_(seed), thread_([this] { run(); }) {}

HostStream::~HostStream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

HostStream& HostStream::of(ShimDevice::Stream stream) {
  if (!is_of_thread(stream)) return *static_cast<HostStream*>(stream);
  static thread_local HostStream of_thread(0, 0);
  return of_thread;
}

void HostStream::enqueue(std::function<void()> item) {
  const Capture captured = capture();
  if (captured.graph != nullptr) {
    captured.graph->add(captured.branch, std::move(item));
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void HostStream::synchronise() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return items_.empty() && !busy_; });
}

void HostStream::begin_capture() { join(std::make_shared<HostGraph>()); }

std::shared_ptr<HostGraph> HostStream::end_capture() {
  const Capture captured = capture();
  captured.graph->end();
  return captured.graph;
}

HostStream::Capture HostStream::capture() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (capture_.graph != nullptr && capture_.graph->ended()) capture_ = {};
  return capture_;
}

void HostStream::join(const std::shared_ptr<HostGraph>& graph) {
  const std::lock_guard<std::mutex> lock(mutex_);
  capture_ = {graph, graph->add_branch()};
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
  const HostStream::Capture captured = stream.capture();
  if (captured.graph == nullptr) {
    const auto done = begin_record();
    stream.enqueue([done] { done->store(true, std::memory_order_release); });
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  graph_ = captured.graph;
  behind_ = captured.position();
}

void HostEvent::wait(HostStream& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  HostStream::Capture captured = stream.capture();
  if (graph_ != nullptr) {
    if (captured.graph == nullptr && !graph_->ended()) {
      stream.join(graph_);
      captured = stream.capture();
    }
    if (captured.graph != graph_) throw BadArgument("an event of another capture");
    graph_->add_wait(captured.branch, behind_);
    return;
  }
  if (captured.graph != nullptr) throw BadArgument("an event of no capture");
  if (last_ == nullptr) return;
  stream.enqueue([done = last_] {
    while (!done->load(std::memory_order_acquire)) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
}

bool HostEvent::done() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return graph_ != nullptr || last_ == nullptr || last_->load(std::memory_order_acquire);
}

std::shared_ptr<std::atomic<bool>> HostEvent::last() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

std::shared_ptr<std::atomic<bool>> HostEvent::begin_record() {
  const std::lock_guard<std::mutex> lock(mutex_);
  graph_ = nullptr;
  last_ = std::make_shared<Done>(false);
  return last_;
}

}  // namespace duet::nccl_shim::host
