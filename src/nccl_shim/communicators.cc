#include "nccl_shim/communicators.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "nccl_shim/protocol/guard.h"

namespace duet::nccl_shim {
namespace {

using Left = std::deque<std::pair<std::unique_ptr<ShimDevice>, std::unique_ptr<PairCopies>>>;

// Never destroyed: calls may come while the process ends.
struct Table {
  std::shared_mutex mutex;
  std::unordered_map<nccl::Comm, std::shared_ptr<Communicator>> entries;
  std::atomic<bool> any{false}, forked{false};
  Guard guard;
  // Devices and copies of communicators that have ended, which something may still use.
  std::mutex left_mutex;
  Left left;
};

Table& entered() {
  static Table* const instance = [] {
    pthread_atfork(nullptr, nullptr, [] { entered().forked = true; });
    return new Table;
  }();
  return *instance;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<ShimDevice> on, std::unique_ptr<PairCopies> by,
                           std::string named, bool blocking_calls, const Thresholds& taken)
    : device(std::move(on)),
      copies(std::move(by)),
      name(std::move(named)),
      blocking(blocking_calls),
      thresholds(taken) {
  entered().guard.add(*copies);
}

Communicator::~Communicator() {
  if (copies->end()) {  // while the guard still notices that a peer is gone
    entered().guard.remove(*copies);
    return;
  }
  const std::lock_guard<std::mutex> lock(entered().left_mutex);
  entered().left.emplace_back(std::move(device), std::move(copies));
}

void end_left() {
  Left ended;
  const std::lock_guard<std::mutex> lock(entered().left_mutex);
  Left& left = entered().left;
  const auto first = std::partition(left.begin(), left.end(),
                                    [](const auto& each) { return !each.second->end(); });
  for (auto each = first; each != left.end(); ++each) entered().guard.remove(*each->second);
  std::move(first, left.end(), std::back_inserter(ended));
  left.erase(first, left.end());
}

std::string Communicator::name_part(const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return what + " " + std::to_string(parts_[what]++);
}

std::shared_ptr<Communicator> find(nccl::Comm handle) {
  Table& all = entered();
  if (!all.any.load(std::memory_order_acquire) || all.forked) return nullptr;
  const std::shared_lock<std::shared_mutex> lock(all.mutex);
  const auto found = all.entries.find(handle);
  return found == all.entries.end() ? nullptr : found->second;
}

bool is_forked() { return entered().forked; }

void enter(nccl::Comm handle, std::shared_ptr<Communicator> communicator) {
  Table& all = entered();
  const std::unique_lock<std::shared_mutex> lock(all.mutex);
  all.entries[handle] = std::move(communicator);
  all.any.store(true, std::memory_order_release);
}

std::shared_ptr<Communicator> take_out(nccl::Comm handle) {
  Table& all = entered();
  if (all.forked) return nullptr;
  const std::unique_lock<std::shared_mutex> lock(all.mutex);
  const auto found = all.entries.find(handle);
  if (found == all.entries.end()) return nullptr;
  std::shared_ptr<Communicator> taken = std::move(found->second);
  all.entries.erase(found);
  return taken;
}

}  // namespace duet::nccl_shim
