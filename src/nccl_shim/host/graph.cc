#include "nccl_shim/host/graph.h"

#include <chrono>
#include <thread>
#include <utility>

#include "nccl_shim/host/stream.h"

namespace duet::nccl_shim::host {
namespace {

std::uint64_t new_id() {
  static std::atomic<std::uint64_t> last{kNotCaptured};
  return ++last;
}

template <typename Condition>
void wait_until(const Condition& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace

HostGraph::HostGraph() : id(new_id()) {}

std::size_t HostGraph::add_branch() {
  branches_.emplace_back();
  return branches_.size() - 1;
}

void HostGraph::add(std::size_t branch, std::function<void()> work) {
  branches_[branch].push_back([work = std::move(work)](Launch&) { work(); });
  ++size_;
}

void HostGraph::add_wait(std::size_t branch, const Position& behind) {
  branches_[branch].push_back([behind](Launch& launch) { wait_for(launch, behind); });
}

void HostGraph::wait_at_launch(std::size_t branch, HostEvent& event) {
  branches_[branch].push_back([index = awaited_.size()](Launch& launch) {
    const Flag& flag = launch.awaited[index];
    if (flag != nullptr) wait_until([&] { return flag->load(std::memory_order_acquire); });
  });
  awaited_.push_back(&event);
}

std::size_t HostGraph::record_at_launch(HostEvent& event, const Position& behind) {
  records_.push_back({&event, {behind}});
  return records_.size() - 1;
}

void HostGraph::extend_record(std::size_t record, const Position& behind) {
  records_[record].behind.push_back(behind);
}

void HostGraph::wait_for(Launch& launch, const Position& behind) {
  wait_until(
      [&] { return launch.done[behind.branch].load(std::memory_order_acquire) >= behind.items; });
}

// What an event has is read and changed here, in the order of launches, and not when items run.
void HostGraph::launch(HostStream& stream) {
  const auto launch = std::make_shared<Launch>(branches_.size());
  for (HostEvent* each : awaited_) launch->awaited.push_back(each->last());
  for (const Record& each : records_) launch->recorded.push_back(each.event->begin_record());
  stream.enqueue([self = shared_from_this(), launch] { self->run(*launch); });
}

void HostGraph::run(Launch& launch) const {
  std::vector<std::thread> threads;
  for (std::size_t branch = 0; branch < branches_.size(); ++branch) {
    threads.emplace_back([this, &launch, branch] {
      for (const Item& item : branches_[branch]) {
        item(launch);
        launch.done[branch].fetch_add(1, std::memory_order_release);
      }
    });
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    threads.emplace_back([this, &launch, i] {
      for (const Position& behind : records_[i].behind) wait_for(launch, behind);
      launch.recorded[i]->store(true, std::memory_order_release);
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace duet::nccl_shim::host
