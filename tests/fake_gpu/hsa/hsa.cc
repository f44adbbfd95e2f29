// A stand-in for libhsa-runtime64 over the memory of the stand-in's HIP: agents, signals, and
// copies by engines, with the binary interface of ROCr 1.14 (ROCm 6) and 1.18 (ROCm 7).
//
// Each GPU has two engines for the host's memory and fourteen for peers, as MI300X has. An engine
// makes its copies in order, on a thread, but small ones that wait for nothing beside those before
// them. Refused, as ROCr does or more strictly: engines that do
// not fit the two agents, agents to whom the memory does not belong, signals that are none. A copy
// by a GPU that does not reach the memory, or of memory that its device has written and not yet
// released to system scope, ends the process.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "fake_gpu/hip/runtime.h"
#include "fake_gpu/hsa/hsa_signals.h"

namespace fake_gpu {
namespace {

constexpr std::uint64_t kHost = 1, kFirstGpu = 0x100;  // handles of agents
constexpr unsigned kHostEngines = 0x3, kPeerEngines = 0xFFFC;
constexpr std::size_t kOverlapping = 64;  // bytes
constexpr unsigned kBeside = 16;          // an engine's copies that overlap are by a thread beside

struct PointerInfo {
  std::uint32_t size;
  int type;
  void *agent_base, *host_base;
  std::size_t bytes;
  void* user_data;
  Agent owner;
  std::uint32_t flags;
};

bool is_agent(Agent agent) { return agent.handle == kHost || is_gpu(agent); }

Agent gpu(int device) { return {kFirstGpu + static_cast<std::uint64_t>(device)}; }

// None for memory of another process whose GPU this one does not see.
Agent owner_of(const Range& range) {
  if (range.kind == Kind::host) return {kHost};
  if (range.kind != Kind::imported) return gpu(range.device);
  return range.owner < device_count() ? gpu(range.owner) : Agent{0};
}

// Never destroyed: engines' threads may outlive main().
struct Signals {
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<std::atomic<std::int64_t>>> by_handle;
  std::uint64_t made = 0;
};
Signals& signals() {
  static auto* const all = new Signals;
  return *all;
}

// For calls that return no status.
std::atomic<std::int64_t>& value_of(SignalHandle signal) {
  const auto found = find_signal(signal);
  if (found == nullptr) {
    std::fprintf(stderr, "hsa stand-in: signal %llu does not exist\n",
                 static_cast<unsigned long long>(signal.handle));
    std::abort();
  }
  return *found;
}

struct Engines {
  std::mutex mutex;
  std::map<std::pair<int, unsigned>, std::shared_ptr<Queue>> by_device;
};
Engines& all_engines() {
  static auto* const all = new Engines;
  return *all;
}

std::shared_ptr<Queue> engine_of(int device, unsigned engine) {
  const std::lock_guard<std::mutex> lock(all_engines().mutex);
  std::shared_ptr<Queue>& queue = all_engines().by_device[{device, engine}];
  if (queue == nullptr) {
    queue = std::make_shared<Queue>();
    queue->start();
  }
  return queue;
}

bool between_peers(Agent to, Agent from) {
  return is_gpu(to) && is_gpu(from) && to.handle != from.handle;
}

// Whose engines copy.
int copier_of(Agent to, Agent from) { return device_of(is_gpu(from) ? from : to); }

// Memory of another process belongs to the GPU that has it, and to the one that imported it.
bool belongs_to(const void* data, std::size_t bytes, Agent agent) {
  const std::optional<Range> range = memory().find(data);
  if (!range || !range->has(data, bytes)) return false;
  return owner_of(*range).handle == agent.handle ||
         (range->kind == Kind::imported && gpu(range->device).handle == agent.handle);
}

void require_clean(const void* data, std::size_t bytes) {
  if (!memory().is_dirty(data, bytes)) return;
  std::fprintf(stderr,
               "hsa stand-in: an engine reads memory at %p whose contents are still in an L2 "
               "cache: expected a release to system scope before\n",
               data);
  std::abort();
}

}  // namespace

bool is_gpu(Agent agent) {
  return agent.handle >= kFirstGpu &&
         agent.handle < kFirstGpu + static_cast<std::uint64_t>(device_count());
}
int device_of(Agent agent) { return static_cast<int>(agent.handle - kFirstGpu); }

std::shared_ptr<std::atomic<std::int64_t>> find_signal(SignalHandle signal) {
  const std::lock_guard<std::mutex> lock(signals().mutex);
  const auto found = signals().by_handle.find(signal.handle);
  return found == signals().by_handle.end() ? nullptr : found->second;
}

extern "C" {

int hsa_init() { return kSuccess; }

int hsa_agent_get_info(Agent agent, int what, void* value) {
  constexpr int kDevice = 17, kCpuType = 0, kGpuType = 1;
  if (!is_agent(agent)) return kInvalidAgent;
  if (what != kDevice) return kInvalidArgument;
  *static_cast<int*>(value) = is_gpu(agent) ? kGpuType : kCpuType;
  return kSuccess;
}

int hsa_status_string(int status, const char** text) {
  *text = status == kOutOfResources ? "out of resources" : "invalid";
  return kSuccess;
}

int hsa_signal_create(std::int64_t value, std::uint32_t consumers, const Agent* agents,
                      SignalHandle* signal) {
  if (consumers != 0 || agents != nullptr) return kInvalidArgument;
  auto& all = signals();
  const std::lock_guard<std::mutex> lock(all.mutex);
  signal->handle = ++all.made;
  all.by_handle[signal->handle] = std::make_shared<std::atomic<std::int64_t>>(value);
  ++live_signals();
  return kSuccess;
}

int hsa_signal_destroy(SignalHandle signal) {
  auto& all = signals();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.by_handle.erase(signal.handle) == 0) return kInvalidSignal;
  --live_signals();
  return kSuccess;
}

std::int64_t hsa_signal_load_scacquire(SignalHandle signal) { return value_of(signal); }

void hsa_signal_store_screlease(SignalHandle signal, std::int64_t value) {
  value_of(signal) = value;
}

int hsa_amd_pointer_info(const void* data, PointerInfo* info, void* (*)(std::size_t),
                         std::uint32_t*, Agent**) {
  if (info->size != sizeof *info) return kInvalidArgument;
  const std::optional<Range> range = memory().find(data);
  if (!range) {
    info->type = 0;
    return kSuccess;
  }
  info->type = range->kind == Kind::imported ? 4 : 1;
  info->agent_base = info->host_base = reinterpret_cast<void*>(range->begin);
  info->bytes = range->bytes;
  info->owner = owner_of(*range);
  return kSuccess;
}

int hsa_amd_memory_copy_engine_status(Agent to, Agent from, std::uint32_t* mask) {
  if (!is_agent(to) || !is_agent(from) || to.handle == from.handle) {
    return kInvalidAgent;
  }
  *mask = 0;
  if (is_set("no-sdma")) return kOutOfResources;
  const unsigned fit = between_peers(to, from) ? kPeerEngines : kHostEngines;
  for (unsigned engine = 1; engine <= fit; engine <<= 1) {
    if ((fit & engine) == 0) continue;
    if (engine_of(copier_of(to, from), engine)->idle()) *mask |= engine;
  }
  return *mask != 0 ? kSuccess : kOutOfResources;
}

// One engine for each link: every second one, as the driver recommends on MI300X.
int hsa_amd_memory_get_preferred_copy_engine(Agent to, Agent from, std::uint32_t* mask) {
  if (!is_agent(to) || !is_agent(from)) return kInvalidAgent;
  *mask = 0;
  if (is_set("no-advice") || is_set("no-sdma") || !between_peers(to, from)) {
    return kSuccess;
  }
  const int count = device_count();
  const int step = (device_of(to) - device_of(from) + count) % count;
  *mask = 1u << (2 * step);
  return kSuccess;
}

int hsa_amd_memory_async_copy_on_engine(void* to, Agent to_agent, const void* from,
                                        Agent from_agent, std::size_t bytes, std::uint32_t count,
                                        const SignalHandle* after, SignalHandle done, int engine,
                                        bool force_sdma) {
  if (!is_agent(to_agent) || !is_agent(from_agent) || (!is_gpu(to_agent) && !is_gpu(from_agent)) ||
      !belongs_to(to, bytes, to_agent) || !belongs_to(from, bytes, from_agent)) {
    return kInvalidAgent;
  }
  const unsigned bit = static_cast<unsigned>(engine);
  const unsigned fit =
      between_peers(to_agent, from_agent) ? kPeerEngines : kPeerEngines | kHostEngines;
  if (bit == 0 || (bit & (bit - 1)) != 0 || (bit & fit) == 0 || !force_sdma || count > 1 ||
      (count == 0) != (after == nullptr)) {
    return kInvalidArgument;
  }
  const auto ended = find_signal(done);
  const auto awaited = count == 1 ? find_signal(*after) : nullptr;
  if (ended == nullptr || (count == 1 && awaited == nullptr)) return kInvalidSignal;
  if (is_set("sdma-fails")) return kOutOfResources;
  if (awaited != nullptr && is_set("waiting-sdma-fails")) return kOutOfResources;
  const int device = copier_of(to_agent, from_agent);
  const bool overlaps = bytes <= kOverlapping && awaited == nullptr;
  engine_of(device, overlaps ? bit << kBeside : bit)
      ->push({[=] {
                require_reach(device, from, bytes, "an engine's source");
                require_reach(device, to, bytes, "an engine's destination");
                require_clean(from, bytes);
                constexpr std::size_t kWord = sizeof(std::uint64_t);
                if (bytes == kWord && reinterpret_cast<std::uintptr_t>(to) % kWord == 0) {
                  std::uint64_t word = 0;  // streams may wait for it
                  std::memcpy(&word, from, sizeof word);
                  __atomic_store_n(static_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
                } else {
                  std::memcpy(to, from, bytes);
                }
                --*ended;
              },
              [awaited] { return !engines_pause() && (awaited == nullptr || *awaited == 0); }});
  return kSuccess;
}

}  // extern "C"

}  // namespace fake_gpu
