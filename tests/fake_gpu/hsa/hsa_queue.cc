// The queues of ROCr's stand-in. A queue is a ring of packets of 64 bytes that a thread takes in
// order, each when its doorbell has rung and its condition holds. Packets are barrier-AND's and
// AMD's barrier-value; others, and those without the barrier bit, end the process.
//
// A packet's signal is one of ROCr's, or memory in the form of one (amd_hsa_signal.h): 64 bytes,
// aligned to 64, the kind 1 (a user's) before the value. Such memory must be coherent, and the
// queue's GPU must reach it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fake_gpu/hip/runtime.h"
#include "fake_gpu/hsa/hsa_signals.h"

namespace fake_gpu {
namespace {

constexpr std::size_t kPacketBytes = 64, kSignalBytes = 64, kValueOffset = 8;
constexpr std::uint16_t kVendor = 0, kInvalid = 1, kBarrierAnd = 3;  // types of packets
constexpr std::uint8_t kBarrierValue = 2;                            // AMD's format
constexpr std::uint16_t kBarrierBit = 1 << 8;
constexpr int kReleaseShift = 11, kSystemScope = 2;
constexpr int kDependencies = 5;
constexpr auto kQueuePause = std::chrono::microseconds(20);

struct BarrierAnd {
  std::uint16_t header, reserved0;
  std::uint32_t reserved1;
  std::uint64_t dependencies[kDependencies];
  std::uint64_t reserved2, completion;
};
struct BarrierValue {
  std::uint16_t header;
  std::uint8_t format, reserved;
  std::uint32_t reserved0;
  std::uint64_t signal;
  std::int64_t value, mask;
  std::uint32_t condition, reserved1;
  std::uint64_t reserved2, reserved3, completion;
};
static_assert(sizeof(BarrierAnd) == kPacketBytes && sizeof(BarrierValue) == kPacketBytes);

[[noreturn]] void give_up(const char* what, std::uint64_t number) {
  std::fprintf(stderr, "hsa stand-in: a queue's packet: %s: %#llx\n", what,
               static_cast<unsigned long long>(number));
  std::abort();
}

// hsa_queue_t, and what is behind it.
struct HsaQueue {
  std::uint32_t type, features;
  void* base;
  SignalHandle doorbell;
  std::uint32_t size, reserved1;
  std::uint64_t id;
};

class Processor {
 public:
  Processor(int device, std::uint32_t size) : device_(device), ring_(size) {
    hsa_signal_create(-1, 0, nullptr, &shown.doorbell);
    for (Packet& each : ring_) std::memcpy(&each, &kInvalid, sizeof kInvalid);
    shown.base = ring_.data();
    shown.size = size;
  }
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  void run() {
    const auto rung = find_signal(shown.doorbell);
    while (true) {
      bool moved = false;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (ended_) return;
        moved = step(*rung);
      }
      if (!moved) std::this_thread::sleep_for(kQueuePause);
    }
  }
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    hsa_signal_destroy(shown.doorbell);
  }

  HsaQueue shown{};
  std::atomic<std::uint64_t> read{0}, write{0};

 private:
  bool step(std::int64_t rung) {
    auto* const packet = reinterpret_cast<std::byte*>(&ring_[read % ring_.size()]);
    auto* const header = reinterpret_cast<std::uint16_t*>(packet);
    const std::uint16_t now = __atomic_load_n(header, __ATOMIC_ACQUIRE);
    if (rung < static_cast<std::int64_t>(read.load()) || (now & 0xFF) == kInvalid ||
        !satisfied(packet, now)) {
      return false;
    }
    complete(packet, now);
    __atomic_store_n(header, kInvalid, __ATOMIC_RELEASE);
    ++read;
    return true;
  }

  struct alignas(kPacketBytes) Packet {
    std::byte bytes[kPacketBytes];
  };

  std::int64_t* memory_signal(std::uint64_t handle) const {
    const auto* const data = reinterpret_cast<const std::byte*>(handle);
    if (handle % kSignalBytes != 0 || !memory().is_own_address(data)) {
      give_up("expected a signal, or memory in the form of one", handle);
    }
    require_reach(device_, data, kSignalBytes, "a signal of a queue's packet");
    require_coherent(data, "a signal of a queue's packet");
    std::int64_t kind = 0;
    std::memcpy(&kind, data, sizeof kind);
    if (kind != 1) give_up("expected the kind 1 before a signal's value", handle);
    return reinterpret_cast<std::int64_t*>(handle + kValueOffset);
  }

  std::int64_t value_of(std::uint64_t handle) const {
    if (const auto own = find_signal({handle})) return *own;
    return __atomic_load_n(memory_signal(handle), __ATOMIC_ACQUIRE);
  }

  bool satisfied(const std::byte* packet, std::uint16_t header) const {
    if ((header & kBarrierBit) == 0) give_up("expected the barrier bit", header);
    if ((header & 0xFF) == kBarrierAnd) {
      BarrierAnd barrier;
      std::memcpy(&barrier, packet, sizeof barrier);
      for (const std::uint64_t each : barrier.dependencies) {
        if (each != 0 && value_of(each) != 0) return false;
      }
      return true;
    }
    BarrierValue barrier;
    std::memcpy(&barrier, packet, sizeof barrier);
    if ((header & 0xFF) != kVendor || barrier.format != kBarrierValue) {
      give_up("expected a barrier", header);
    }
    return holds(barrier.condition, value_of(barrier.signal) & barrier.mask, barrier.value);
  }

  // The last 8 bytes of either packet are its completion signal.
  void complete(const std::byte* packet, std::uint16_t header) const {
    std::uint64_t completion = 0;
    std::memcpy(&completion, packet + kPacketBytes - sizeof completion, sizeof completion);
    if (((header >> kReleaseShift) & 3) == kSystemScope) memory().release_to_system(device_);
    if (completion == 0) return;
    const auto own = find_signal({completion});
    if (own == nullptr) give_up("expected a signal of ROCr's for its completion", completion);
    --*own;
  }

  const int device_;
  std::vector<Packet> ring_;
  std::mutex mutex_;  // of a step
  bool ended_ = false;
};

// Never destroyed: their threads may outlive main().
struct Processors {
  std::mutex mutex;
  std::map<const HsaQueue*, std::shared_ptr<Processor>> by_queue;
};
Processors& processors() {
  static auto* const all = new Processors;
  return *all;
}

std::shared_ptr<Processor> processor_of(const HsaQueue* queue) {
  const std::lock_guard<std::mutex> lock(processors().mutex);
  const auto found = processors().by_queue.find(queue);
  if (found == processors().by_queue.end()) {
    std::fprintf(stderr, "hsa stand-in: the queue does not exist\n");
    std::abort();
  }
  return found->second;
}

// ROCr calls all handlers on one thread.
class Handlers {
 public:
  struct Handler {
    std::shared_ptr<std::atomic<std::int64_t>> signal;
    std::uint32_t condition;
    std::int64_t value;
    bool (*call)(std::int64_t value, void* data);
    void* data;
  };

  Handlers() {
    std::thread([this] { run(); }).detach();
  }
  void add(Handler handler) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(handler));
  }

 private:
  void run() {
    while (true) {
      for (const Handler& each : take_satisfied()) {
        if (each.call(*each.signal, each.data)) add(each);
      }
      std::this_thread::sleep_for(kQueuePause);
    }
  }
  std::vector<Handler> take_satisfied() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Handler> satisfied, others;
    for (Handler& each : waiting_) {
      const bool now = holds(each.condition, *each.signal, each.value);
      (now ? satisfied : others).push_back(std::move(each));
    }
    waiting_ = std::move(others);
    return satisfied;
  }

  std::mutex mutex_;
  std::vector<Handler> waiting_;
};
Handlers& handlers() {
  static auto* const all = new Handlers;
  return *all;
}

}  // namespace
extern "C" {

int hsa_queue_create(Agent agent, std::uint32_t size, std::uint32_t type,
                     void (*)(int, HsaQueue*, void*), void*, std::uint32_t, std::uint32_t,
                     HsaQueue** queue) {
  if (!is_gpu(agent)) return kInvalidAgent;
  if (size < 64 || (size & (size - 1)) != 0 || type > 1) return kInvalidArgument;
  if (is_set("no-queues")) return kOutOfResources;
  auto processor = std::make_shared<Processor>(device_of(agent), size);
  *queue = &processor->shown;
  {
    const std::lock_guard<std::mutex> lock(processors().mutex);
    processors().by_queue[*queue] = processor;
  }
  std::thread([processor] { processor->run(); }).detach();
  return kSuccess;
}

int hsa_queue_destroy(HsaQueue* queue) {
  processor_of(queue)->end();
  const std::lock_guard<std::mutex> lock(processors().mutex);
  processors().by_queue.erase(queue);
  return kSuccess;
}

std::uint64_t hsa_queue_add_write_index_screlease(const HsaQueue* queue, std::uint64_t count) {
  return processor_of(queue)->write.fetch_add(count);
}

std::uint64_t hsa_queue_load_read_index_scacquire(const HsaQueue* queue) {
  return processor_of(queue)->read;
}

int hsa_amd_signal_async_handler(SignalHandle signal, std::uint32_t condition, std::int64_t value,
                                 bool (*call)(std::int64_t, void*), void* data) {
  auto found = find_signal(signal);
  if (found == nullptr) return kInvalidSignal;
  handlers().add({std::move(found), condition, value, call, data});
  return kSuccess;
}

}  // extern "C"

}  // namespace fake_gpu
