#include "nccl_shim/call_counts.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "nccl_shim/metrics_file.h"
#include "nccl_shim/real_library.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {
namespace {

// Never destroyed, as the table of communicators.
struct AllCounts {
  std::shared_mutex mutex;
  std::unordered_map<nccl::Comm, CommunicatorCounts*> by_handle;
  std::deque<CommunicatorCounts> all;  // which does not move them
};

AllCounts& all_counts() {
  static auto* const instance = new AllCounts;
  return *instance;
}

CommunicatorCounts* find_counts(nccl::Comm handle) {
  AllCounts& counts = all_counts();
  const std::shared_lock<std::shared_mutex> lock(counts.mutex);
  const auto found = counts.by_handle.find(handle);
  return found == counts.by_handle.end() ? nullptr : found->second;
}

// What the real NCCL tells of it, by the function `name`; -1: nothing.
int ask_number(const char* name, nccl::Comm handle) {
  using Ask = nccl::Result (*)(nccl::Comm, int*);
  const auto real = reinterpret_cast<Ask>(real_function_or_refusal(name));
  int answer = -1;
  return handle != nullptr && real(handle, &answer) == nccl::kSuccess ? answer : -1;
}

// Null if NCCL does not know its ranks.
CommunicatorCounts* new_counts(nccl::Comm handle) {
  const int ranks = ask_number("ncclCommCount", handle);
  const int rank = ask_number("ncclCommUserRank", handle);
  if (ranks < 1 || rank < 0) return nullptr;
  AllCounts& counts = all_counts();
  const std::unique_lock<std::shared_mutex> lock(counts.mutex);
  CommunicatorCounts*& made = counts.by_handle[handle];
  if (made != nullptr) return made;  // by another thread
  counts.all.emplace_back();
  made = &counts.all.back();
  made->number = static_cast<int>(counts.all.size()) - 1;
  made->rank = rank;
  made->ranks = ranks;
  return made;
}

}  // namespace

const char* name_of(CountedKind kind) {
  static constexpr const char* kNames[kCountedKinds] = {
      "all_gather", "all_to_all", "broadcast",  "reduce_scatter", "all_reduce",
      "reduce",     "gather",     "scatter",    "send",           "receive",
      "put_signal", "signal",     "wait_signal"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Means means) {
  static constexpr const char* kNames[kMeans] = {"nccl", "copies", "packets", "kernel"};
  return kNames[static_cast<std::size_t>(means)];
}

Counted counted(const Call& call) {
  const bool whole = call.kind == Kind::broadcast || call.kind == Kind::all_reduce;
  return {static_cast<CountedKind>(call.kind), call.bytes, !whole};
}

Counted counted(const Message& message) {
  const bool sends = message.what == Message::What::send;
  return {sends ? CountedKind::send : CountedKind::receive, message.bytes};
}

bool counts_calls() {
  static const bool does = settings_are_valid() && !settings().metrics.empty();
  return does;
}

CommunicatorCounts* counts_of(nccl::Comm handle) {
  if (CommunicatorCounts* found = find_counts(handle)) return found;
  CommunicatorCounts* const made = new_counts(handle);
  if (made != nullptr) start_metrics_file();
  return made;
}

void count_call(CommunicatorCounts& communicator, const Counted& call, Means means) {
  const std::uint64_t bytes = call.all_bytes(communicator.ranks);
  auto& kinds = communicator.calls[static_cast<std::size_t>(means)];
  Counts& counts = kinds[static_cast<std::size_t>(call.kind)];
  const auto size = std::lower_bound(kCountedSizes.begin(), kCountedSizes.end(), bytes);
  counts.calls[static_cast<std::size_t>(size - kCountedSizes.begin())].fetch_add(
      1, std::memory_order_relaxed);
  counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void end_counts(nccl::Comm handle) {
  if (!counts_calls()) return;
  AllCounts& counts = all_counts();
  const std::unique_lock<std::shared_mutex> lock(counts.mutex);
  counts.by_handle.erase(handle);
}

void each_counts(const std::function<void(const CommunicatorCounts&)>& see) {
  AllCounts& counts = all_counts();
  const std::shared_lock<std::shared_mutex> lock(counts.mutex);
  for (const CommunicatorCounts& each : counts.all) see(each);
}

}  // namespace duet::nccl_shim
