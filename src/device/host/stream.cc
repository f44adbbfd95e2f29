#include "device/host/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "device/contents.h"
#include "device/host/copy_bytes.h"
#include "device/host/kernel.h"

namespace duet::host {
namespace {

// Bytes from which on a copy uses non-temporal stores; the last-level cache's size if that is
// larger.
constexpr std::uint64_t kPastCaches = 32 << 20;
constexpr int kMostParts = 1024;  // of one copy
constexpr double kRoomSeconds = 10;

HostEvent& own(Event& event, const HostDevice& device, MachineSync& sync) {
  auto* host = dynamic_cast<HostEvent*>(&event);
  if (host == nullptr || &host->state()->sync != &sync) {
    throw BadArgument(fmt::format("{}: an event of another machine", device.info().name));
  }
  return *host;
}

std::uint64_t* word_of(const Semaphore& semaphore, HostMachine& machine) {
  machine.require_own(semaphore.word, "semaphore");
  if (semaphore.word.bytes != sizeof(std::uint64_t) ||
      reinterpret_cast<std::uintptr_t>(semaphore.word.data) % sizeof(std::uint64_t) != 0) {
    throw BadArgument("a semaphore is an aligned word of 8 bytes");
  }
  return reinterpret_cast<std::uint64_t*>(semaphore.word.data);
}

}  // namespace

HostEvent::HostEvent(HostDevice& device)
    : device_(device.info().name),
      state_(std::make_shared<HostEventState>(device.machine().sync())) {}

bool HostEvent::done() {
  const std::lock_guard<std::mutex> lock(state_->sync.mutex);
  return state_->done();
}

void HostEvent::synchronize(double deadline_seconds) {
  std::unique_lock<std::mutex> lock(state_->sync.mutex);
  const bool in_time =
      state_->reached.wait_for(lock, time_limit(deadline_seconds), [&] { return state_->done(); });
  if (!in_time) {
    throw Timeout(fmt::format("{}: an event was not reached in {} s", device_, deadline_seconds));
  }
}

double HostEvent::seconds_since(const Event& earlier) const {
  const auto* other = dynamic_cast<const HostEvent*>(&earlier);
  if (other == nullptr) throw BadArgument("seconds_since: an event of another kind of device");
  const std::lock_guard<std::mutex> lock(state_->sync.mutex);
  for (const HostEventState* state : {state_.get(), other->state_.get()}) {
    if (state->last == nullptr || !state->last->reached) {
      throw BadArgument("seconds_since: an event that was not recorded or not reached");
    }
  }
  return state_->last->seconds - other->state_->last->seconds;
}

HostStream::HostStream(HostDevice& device, int priority) : device_(device) {
  queue_.priority = std::clamp(priority, 0, device.info().priorities - 1);
  device_.workers().add(&queue_);
}

HostStream::~HostStream() { device_.workers().remove(&queue_); }

void HostStream::enqueue_copy(const Copy& copy) {
  device_.machine().require_own(copy.source, "source of a copy");
  device_.machine().require_own(copy.destination, "destination of a copy");
  if (copy.source.bytes != copy.destination.bytes) {
    throw BadArgument(
        fmt::format("a copy from {} to {} bytes", copy.source.bytes, copy.destination.bytes));
  }
  if (copy.source.owner != &device_ && copy.destination.owner != &device_) {
    throw BadArgument(fmt::format("{}: neither side of the copy is its own", device_.info().name));
  }
  wait_for_room();
  const std::size_t bytes = copy.source.bytes;
  std::byte* to = copy.destination.data;
  const std::byte* from = copy.source.data;
  // A copy by kernel uses every core of the device, or `grid` threads. The shape one_warp_per_sm
  // and the other executors use one thread.
  int parts = 1;
  if (copy.executor == Executor::kernel && !copy.shape.one_warp_per_sm && bytes >= kParallelBytes) {
    parts = copy.shape.grid > 0 ? std::min(copy.shape.grid, kMostParts) : device_.workers().cores();
  }
  const Through through = bytes >= std::max(kPastCaches, device_.info().cache_bytes)
                              ? Through::memory
                              : Through::caches;
  const auto copy_all = [this, to, from, bytes, parts, through] {
    const std::size_t share = (bytes / static_cast<std::size_t>(parts) + 63) / 64 * 64;
    device_.workers().parallel(parts, [&](int part) {
      const std::size_t begin = std::min(bytes, share * static_cast<std::size_t>(part));
      const std::size_t end = part + 1 == parts ? bytes : std::min(bytes, begin + share);
      copy_bytes(to + begin, from + begin, end - begin, through);
    });
  };
  device_.workers().push(&queue_, {nullptr, copy_all, Operation::Runs::by_worker, false, true});
}

void HostStream::at_once(std::function<bool()> ready, std::function<void()> body, bool polled) {
  device_.workers().push(
      &queue_, {std::move(ready), std::move(body), Operation::Runs::at_once, polled, false});
}

void HostStream::by_worker(std::function<void()> body) {
  device_.workers().push(&queue_,
                         {nullptr, std::move(body), Operation::Runs::by_worker, false, false});
}

void HostStream::wait_for_room() {
  const std::size_t most = device_.machine().most_copies();
  if (most == 0 || device_.workers().wait_for_room(queue_, most, kRoomSeconds)) return;
  throw Timeout(fmt::format("{}: a stream's queue had no room for a copy in {} s: {} are there",
                            device_.info().name, kRoomSeconds, most));
}

void HostStream::enqueue_fill(const Span& span, const Fill& fill) {
  device_.machine().require_own(span, "span to fill");
  const int parts = span.bytes >= kParallelBytes ? device_.workers().cores() : 1;
  by_worker([this, span, fill, parts] {
    const std::size_t share = (span.bytes / static_cast<std::size_t>(parts) + 63) / 64 * 64;
    device_.workers().parallel(parts, [&](int part) {
      const std::size_t begin = std::min(span.bytes, share * static_cast<std::size_t>(part));
      const std::size_t end = part + 1 == parts ? span.bytes : std::min(span.bytes, begin + share);
      write_fill(fill, span.data + begin, begin, end - begin);
    });
  });
}

void HostStream::enqueue_record(Event& event) {
  MachineSync& sync = device_.machine().sync();
  std::shared_ptr<HostEventState> state = own(event, device_, sync).state();
  const auto recording = std::make_shared<HostRecording>();
  {
    const std::lock_guard<std::mutex> lock(sync.mutex);
    state->last = recording;
  }
  at_once(nullptr, [state, recording] {
    recording->seconds = steady_now();
    recording->reached = true;
    state->reached.notify_all();
  });
}

void HostStream::enqueue_wait(Event& event) {
  MachineSync& sync = device_.machine().sync();
  const std::shared_ptr<HostEventState> state = own(event, device_, sync).state();
  std::shared_ptr<HostRecording> recording;
  {
    const std::lock_guard<std::mutex> lock(sync.mutex);
    recording = state->last;
  }
  if (recording == nullptr) return;
  Operation operation{[recording] { return recording->reached; }, nullptr, Operation::Runs::at_once,
                      false, false};
  operation.awaits_event = true;
  device_.workers().push(&queue_, std::move(operation));
}

void HostStream::enqueue_signal(const Semaphore& semaphore, std::uint64_t value) {
  std::uint64_t* word = word_of(semaphore, device_.machine());
  at_once(nullptr, [word, value] { __atomic_store_n(word, value, __ATOMIC_RELEASE); });
}

void HostStream::enqueue_wait(const Semaphore& semaphore, std::uint64_t value) {
  const std::uint64_t* word = word_of(semaphore, device_.machine());
  at_once([word, value] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= value; }, nullptr,
          device_.machine().is_shared(semaphore.word));
}

void HostStream::enqueue_run(const Task& task) {
  if (!task.body) throw BadArgument(fmt::format("task '{}' has no body to run", task.name));
  by_worker(task.body);
}

void HostStream::enqueue_launch(PreparedKernel& prepared) {
  auto* own = dynamic_cast<HostKernel*>(&prepared);
  if (own == nullptr || &own->device() != &device_) {
    throw BadArgument(fmt::format("{}: another device's kernel", device_.info().name));
  }
  if (own->is_ordered()) return push_ordered_items(*own);
  const std::uint64_t come = 2 * own->next_call() + 1, done = come + 1;
  if (own->opens()) {
    at_once(nullptr, [own, come] { own->arrive(come); });
    at_once([own, come] { return own->have_arrived(come); }, nullptr, own->polled());
  }
  by_worker([own] { own->run_items(); });
  if (own->closes()) {
    at_once(nullptr, [own, done] { own->arrive(done); });
    at_once([own, done] { return own->have_arrived(done); }, nullptr, own->polled());
  }
}

void HostStream::push_ordered_items(const HostKernel& kernel) {
  for (const LocalKernelItem& item : kernel.items()) {
    for (const Semaphore& semaphore : item.waits) wait(semaphore, 1);
    by_worker([&kernel, &item] { kernel.run_item(item); });
    for (const Semaphore& semaphore : item.waits) signal(semaphore, 0);
    for (const Semaphore& semaphore : item.signals) signal(semaphore, 1);
  }
}

void HostStream::rethrow() {
  if (queue_.error != nullptr) std::rethrow_exception(std::exchange(queue_.error, nullptr));
}

bool HostStream::idle() {
  require_not_captured();
  const std::lock_guard<std::mutex> lock(device_.machine().sync().mutex);
  rethrow();
  return queue_.operations.empty();
}

void HostStream::synchronize(double deadline_seconds) {
  require_not_captured();
  MachineSync& sync = device_.machine().sync();
  std::unique_lock<std::mutex> lock(sync.mutex);
  const bool in_time = queue_.changed.wait_for(lock, time_limit(deadline_seconds),
                                               [&] { return queue_.operations.empty(); });
  rethrow();
  if (!in_time) {
    throw Timeout(fmt::format("{}: a stream was not idle after {} s: {} operations left",
                              device_.info().name, deadline_seconds, queue_.operations.size()));
  }
}

}  // namespace duet::host
