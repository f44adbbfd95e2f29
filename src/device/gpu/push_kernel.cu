// Threads of a GPU that push commands for a proxy: one of each block, as soon as they are told to.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/nanoseconds.h"
#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {
namespace {

constexpr unsigned kPatience = 64;  // looks at a word between looks at `stop`
// A look is a read over the bus, by which copy engines fetch their work as well: with 16 blocks
// that looked all the time (H200), copies of 1 MiB took 21 us each instead of 7, with 128
// blocks 40.
constexpr unsigned kRestNanoseconds = 50;  // between two looks, for each other block

__device__ bool stopped(const CommandPushes& pushes) {
  return load_acquire(&pushes.control->stop) != 0;
}

// Until the word is at least so much; false: stopped.
__device__ bool wait_for(const CommandPushes& pushes, const std::uint64_t* word,
                         std::uint64_t least) {
  const unsigned others = gridDim.x - 1;
  for (unsigned looks = 1; load_acquire(word) < least; ++looks) {
    if (looks % kPatience == 0 && stopped(pushes)) return false;
    if (others > 0) rest(kRestNanoseconds * others);
  }
  return true;
}

// Answers with this clock's time until told to begin; false: stopped.
__device__ bool wait_to_begin(const CommandPushes& pushes) {
  PushControl& control = *pushes.control;
  std::uint64_t answered = 0;
  for (unsigned looks = 1; load_acquire(&control.begin) == 0; ++looks) {
    if (looks % kPatience == 0 && stopped(pushes)) return false;
    if (blockIdx.x != 0) continue;
    const std::uint64_t ping = load_acquire(&control.ping);
    if (ping == answered) continue;
    store_relaxed(&control.pong_nanoseconds, nanoseconds());
    store_release(&control.pong, ping);
    answered = ping;
  }
  return true;
}

// The command's ticket; 0: stopped.
__device__ std::uint64_t push(const CommandPushes& pushes, std::uint64_t message) {
  const std::uint64_t begin = nanoseconds();
  const std::uint64_t number = atomicAdd(reinterpret_cast<unsigned long long*>(pushes.head), 1ull);
  const bool full = number >= pushes.capacity;
  const std::uint64_t room = number - pushes.capacity + 1;
  if (full && !wait_for(pushes, &pushes.counters->tail, room)) return 0;
  FifoSlot& slot = pushes.slots[number & (pushes.capacity - 1)];
  slot.command.message = message;
  slot.command.pushed = 1e-9 * static_cast<double>(begin);
  store_release(&slot.sequence, number + 1);
  pushes.push_nanoseconds[message] = nanoseconds() - begin;
  return number + 1;
}

__device__ void produce(const CommandPushes& pushes) {
  std::uint64_t ticket = 0;
  for (std::uint64_t i = blockIdx.x; i < pushes.commands; i += gridDim.x) {
    ticket = push(pushes, i);
    if (ticket == 0) return;
    if (pushes.blocking && !wait_for(pushes, &pushes.counters->done, ticket)) return;
  }
  wait_for(pushes, &pushes.counters->done, ticket);
}

__global__ void push_kernel(CommandPushes pushes) {
  if (threadIdx.x != 0) return;
  if (wait_to_begin(pushes)) produce(pushes);
  __threadfence_system();
  const auto before = atomicAdd(reinterpret_cast<unsigned long long*>(pushes.left), 1ull);
  if (before + 1 == gridDim.x) store_release(&pushes.control->ended, 1);
}

}  // namespace

void launch_pushes(const CommandPushes& pushes, gpuStream_t stream) {
  push_kernel<<<dim3(static_cast<unsigned>(pushes.blocks)), dim3(32), 0, stream>>>(pushes);
  DUET_GPU_CHECK(gpuGetLastError());
}

void load_push_kernel() { load_kernel(push_kernel); }

}  // namespace duet::DUET_GPU
