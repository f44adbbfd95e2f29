// The kernel that pushes commands for a proxy. Block 0 relays the CPU's words; one thread of each
// other block pushes commands once the CPU has set `begin`.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {
namespace {

// nanoseconds() reads a clock that all threads of a GPU share.
#ifdef DUET_GPU_HIP
// The constant clock of AMD's Instinct GPUs runs at 100 MHz.
__device__ inline std::uint64_t nanoseconds() { return 10 * __builtin_amdgcn_s_memrealtime(); }
#else
__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}
#endif

constexpr unsigned kPatience = 64;  // polls of a word between polls of `stop`

// Answers a new ping of the CPU with the time of this GPU's clock.
__device__ void answer(PushControl& control, std::uint64_t& answered) {
  const std::uint64_t ping = load_acquire(&control.ping);
  if (ping == answered) return;
  store_relaxed(&control.pong_nanoseconds, nanoseconds());
  store_release(&control.pong, ping);
  answered = ping;
}

// Block 0: polls the CPU's words and relays them through device memory to the other blocks. A poll
// of a CPU word is a read over the bus, over which copy engines fetch their work too. When 16
// blocks polled for themselves, copies of 1 MiB between two H200 took 21 to 70 us each instead of 5
// us.
__device__ void watch(const CommandPushes& pushes) {
  PushControl& control = *pushes.control;
  PushCounts& counts = *pushes.counts;
  const auto blocks = static_cast<std::uint64_t>(pushes.blocks);
  std::uint64_t answered = 0;
  bool begun = false;
  for (unsigned looks = 1; load_acquire(&counts.left) < blocks; ++looks) {
    if (looks % kPatience == 0) store_release(&counts.seen_stop, load_acquire(&control.stop));
    if (begun) {
      store_release(&counts.seen_tail, load_acquire(&pushes.counters->tail));
      store_release(&counts.seen_done, load_acquire(&pushes.counters->done));
      continue;
    }
    answer(control, answered);
    begun = load_acquire(&control.begin) != 0;
    if (begun) store_release(&counts.seen_begin, 1);
  }
}

// Waits until the word is at least `least`. Returns false if the CPU has set `stop`.
__device__ bool wait_for(const CommandPushes& pushes, const std::uint64_t* seen,
                         std::uint64_t least) {
  for (unsigned looks = 1; load_acquire(seen) < least; ++looks) {
    if (looks % kPatience == 0 && load_acquire(&pushes.counts->seen_stop) != 0) return false;
  }
  return true;
}

// Pushes a command and returns its ticket; 0 if the CPU has set `stop`.
__device__ std::uint64_t push(const CommandPushes& pushes, std::uint64_t message) {
  const std::uint64_t begin = nanoseconds();
  auto* head = reinterpret_cast<unsigned long long*>(&pushes.counts->head);
  const std::uint64_t number = atomicAdd(head, 1ull);
  const bool full = number >= pushes.capacity;
  const std::uint64_t room = number - pushes.capacity + 1;
  if (full && !wait_for(pushes, &pushes.counts->seen_tail, room)) return 0;
  FifoSlot& slot = pushes.slots[number & (pushes.capacity - 1)];
  slot.command.message = message;
  slot.command.pushed = 1e-9 * static_cast<double>(begin);
  store_release(&slot.sequence, number + 1);
  pushes.push_nanoseconds[message] = nanoseconds() - begin;
  return number + 1;
}

__device__ void produce(const CommandPushes& pushes, std::uint64_t block) {
  const std::uint64_t* done = &pushes.counts->seen_done;
  const auto blocks = static_cast<std::uint64_t>(pushes.blocks);
  std::uint64_t ticket = 0;
  for (std::uint64_t i = block; i < pushes.commands; i += blocks) {
    ticket = push(pushes, i);
    if (ticket == 0) return;
    if (pushes.blocking && !wait_for(pushes, done, ticket)) return;
  }
  wait_for(pushes, done, ticket);
}

__global__ void push_kernel(CommandPushes pushes) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) return watch(pushes);
  if (wait_for(pushes, &pushes.counts->seen_begin, 1)) produce(pushes, blockIdx.x - 1);
  fence_of_system();
  auto* left = reinterpret_cast<unsigned long long*>(&pushes.counts->left);
  const auto before = atomicAdd(left, 1ull);
  if (before + 1 == static_cast<std::uint64_t>(pushes.blocks)) {
    store_release(&pushes.control->ended, 1);
  }
}

}  // namespace

void launch_pushes(const CommandPushes& pushes, gpuStream_t stream) {
  push_kernel<<<dim3(static_cast<unsigned>(pushes.blocks) + 1), dim3(32), 0, stream>>>(pushes);
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void load_push_kernel() { load_kernel(push_kernel); }

}  // namespace duet::DUET_GPU
