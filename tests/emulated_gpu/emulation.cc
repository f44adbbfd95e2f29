#include "emulation.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace duet::emulation {

uint3 thread_index, block_index;
dim3 block_size, grid_size;
int wave_threads = 64;

namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMostThreads = 1024, kMostRows = 65535;  // of a block; of a grid's y and z
constexpr std::size_t kStackBytes = 64 << 10;

enum class Waits { no, for_warp, for_wave, for_block, ended };

// A thread goes on from block to block: its first context is made where it has none, or waits in a
// block that was given up.
struct Thread {
  ucontext_t first{};
  jmp_buf left;  // where it goes on
  std::vector<char> stack = std::vector<char>(kStackBytes);
  Waits waits = Waits::no;
  bool begun = false;
  int vote = 0;
  double value = 0;
  double published = 0;  // the value at the last shuffle
  int round = 0;         // in which threads of a wave went on from that shuffle together
};

// The block that runs.
struct Block {
  std::vector<std::unique_ptr<Thread>> threads;
  unsigned count = 0;
  unsigned current = 0;
  jmp_buf scheduler;
  const std::function<void()>* body = nullptr;
  std::vector<double> shared;
  int any_vote = 0;
  int in_shuffles = 0;  // threads that wait in a shuffle of their wave
  int rounds = 0;
};
Block block;
std::mutex one_at_a_time;

// By _setjmp and _longjmp, which leave the signal mask alone: swapcontext asks the kernel for it at
// every switch.
void leave(Waits waits) {
  Thread& own = *block.threads[block.current];
  own.waits = waits;
  if (_setjmp(own.left) == 0) _longjmp(block.scheduler, 1);
}

void thread_main() {
  for (;;) {
    (*block.body)();
    leave(Waits::ended);
  }
}

void resume(unsigned index) {
  block.current = index;
  thread_index.x = index;
  if (_setjmp(block.scheduler) != 0) return;
  Thread& thread = *block.threads[block.current];
  if (thread.begun) _longjmp(thread.left, 1);
  thread.begun = true;
  setcontext(&thread.first);
}

void make_first_context(Thread& thread) {
  thread.begun = false;
  getcontext(&thread.first);
  thread.first.uc_stack.ss_sp = thread.stack.data();
  thread.first.uc_stack.ss_size = thread.stack.size();
  thread.first.uc_link = nullptr;
  makecontext(&thread.first, thread_main, 0);
}

void begin_threads() {
  for (unsigned i = 0; i < block.count; ++i) {
    Thread& thread = *block.threads[i];
    if (thread.waits != Waits::ended) make_first_context(thread);
    thread.waits = Waits::no;
  }
}

bool all_wait(unsigned begin, unsigned end, Waits waits) {
  return std::all_of(block.threads.begin() + begin, block.threads.begin() + end,
                     [waits](const auto& thread) { return thread->waits == waits; });
}

void release(unsigned begin, unsigned end) {
  for (unsigned i = begin; i < end; ++i) block.threads[i]->waits = Waits::no;
}

// Lets the threads go on that have come to a shuffle of their wave; false if there are none.
bool release_waves() {
  if (block.in_shuffles == 0) return false;
  block.in_shuffles = 0;
  ++block.rounds;
  for (unsigned i = 0; i < block.count; ++i) {
    Thread& thread = *block.threads[i];
    if (thread.waits != Waits::for_wave) continue;
    thread.waits = Waits::no;
    thread.published = thread.value;
    thread.round = block.rounds;
  }
  return true;
}

// Lets those go on that have all come to the same place; false if there are none.
bool release_any() {
  bool any = release_waves();
  for (unsigned begin = 0; begin < block.count; begin += kWarp) {
    const unsigned end = std::min(begin + kWarp, block.count);
    if (!all_wait(begin, end, Waits::for_warp)) continue;
    for (unsigned i = begin; i < end; ++i) block.threads[i]->published = block.threads[i]->value;
    release(begin, end);
    any = true;
  }
  if (any || !all_wait(0, block.count, Waits::for_block)) return any;
  block.any_vote = 0;
  for (unsigned i = 0; i < block.count; ++i) block.any_vote |= block.threads[i]->vote;
  release(0, block.count);
  return true;
}

void run_block() {
  begin_threads();
  do {
    for (unsigned i = 0; i < block.count; ++i) {
      if (block.threads[i]->waits == Waits::no) resume(i);
    }
  } while (release_any());
  if (!all_wait(0, block.count, Waits::ended)) {
    throw Error(
        fmt::format("emulated kernel: threads of block {} wait for others, which have "
                    "ended or wait elsewhere",
                    block_index.x));
  }
}

}  // namespace

void run(const dim3& grid, unsigned threads, std::size_t shared_bytes,
         const std::function<void()>& body) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > kMostRows || grid.z > kMostRows ||
      threads == 0 || threads > kMostThreads) {
    throw Error(fmt::format("emulated kernel: {} x {} x {} blocks of {} threads", grid.x, grid.y,
                            grid.z, threads));
  }
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  while (block.threads.size() < threads) block.threads.push_back(std::make_unique<Thread>());
  block.count = threads;
  block.body = &body;
  block.shared.assign(shared_bytes / sizeof(double) + 1, 0.0);
  block_size = dim3(threads);
  grid_size = grid;
  for (block_index.z = 0; block_index.z < grid.z; ++block_index.z) {
    for (block_index.y = 0; block_index.y < grid.y; ++block_index.y) {
      for (block_index.x = 0; block_index.x < grid.x; ++block_index.x) run_block();
    }
  }
}

void* shared_memory() { return block.shared.data(); }

int wait_for_block(int vote) {
  block.threads[block.current]->vote = vote;
  leave(Waits::for_block);
  return block.any_vote;
}

int lane() { return static_cast<int>(block.current % kWarp); }

double value_of(double value, int source) {
  const unsigned own = block.current, first = own / kWarp * kWarp;
  block.threads[own]->value = value;
  leave(Waits::for_warp);
  const bool there = source >= 0 && source < static_cast<int>(kWarp) &&
                     first + static_cast<unsigned>(source) < block.count;
  return block.threads[there ? first + static_cast<unsigned>(source) : own]->published;
}

int lane_of_wave() { return static_cast<int>(block.current) % wave_threads; }

double value_of_active(double value, int source) {
  Thread& own = *block.threads[block.current];
  const unsigned from = block.current + static_cast<unsigned>(source - lane_of_wave());
  own.value = value;
  ++block.in_shuffles;
  leave(Waits::for_wave);
  const bool active = from < block.count && block.threads[from]->round == own.round;
  return active ? block.threads[from]->published : std::nan("");
}

}  // namespace duet::emulation
