// A run in which each allocation in turn fails: operator new of this program throws std::bad_alloc
// at the allocation that the test chooses.
#include <atomic>
#include <cstdlib>
#include <new>

#include "core/error.h"
#include "device/sim/clock.h"
#include "device/sim/sim_fixture.h"

namespace {
std::atomic<long> allocations_left{-1};  // allocations that still succeed; -1: all do
}

// Not inline, because the compiler would warn of mixing malloc or free with the other operator.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    allocations_left = 0;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace duet::sim {
namespace {

// Runs `body` with 0, 1, 2 ... successful allocations until it does not throw. Calls `after` after
// each run.
void with_each_allocation_failing(const std::function<void()>& body,
                                  const std::function<void()>& after) {
  for (long allowed = 0; allowed < 100000; ++allowed) {
    bool through = true;
    allocations_left = allowed;
    try {
      body();
    } catch (...) {
      through = false;
    }
    allocations_left = -1;
    after();
    if (through || ::testing::Test::HasFailure()) return;
  }
  FAIL() << "no number of allocations was enough";
}

TEST(ShortMemory, LeavesTheClockUsable) {
  std::unique_ptr<VirtualClock> clock;
  std::vector<VirtualClock::Id> ids;
  ids.reserve(100);
  with_each_allocation_failing(
      [&] {
        ids.clear();
        clock = std::make_unique<VirtualClock>();
        const int memory = clock->add_resource(10), units = clock->add_resource(4);
        for (int i = 0; i < 8; ++i) {
          Flow flow;
          flow.amount = 1 + i;
          if (i > 0) flow.uses = {{memory, 1}, {memory, 0.5}};
          if (i % 2 == 1) flow.occupancy = {units, 2, 1};
          if (i == 0) flow.cap = 2;
          ids.push_back(clock->start(std::move(flow), [] {}));
          ids.push_back(clock->after(0.1 * i, [] {}));
          clock->watch(ids[static_cast<std::size_t>(2 * i)], 0.5, [] {});
        }
        while (clock->step()) {
        }
      },
      [&] {
        if (clock == nullptr) return;
        for (const VirtualClock::Id id : ids) clock->cancel(id);
        EXPECT_EQ(clock->next(), kNever) << "something was left behind";
        bool happened = false;
        clock->after(1, [&] { happened = true; });
        while (clock->step()) {
        }
        EXPECT_TRUE(happened);
      });
}

// Each failed allocation ends the run with an error, not with a crash or a hang.
TEST(ShortMemory, EndsARunOfRanksWithAnError) {
  const std::unique_ptr<Machine> machine = open_machine("sim:mi300x-8");
  with_each_allocation_failing(
      [&] {
        Device& first = machine->device(0);
        Device& second = machine->device(1);
        const Buffer source = first.allocate(kMiB), target = second.allocate(kMiB);
        const Buffer word = second.allocate(sizeof(std::uint64_t));
        machine->scheduler().run(2, [&](int rank) {
          const auto stream = machine->device(rank).make_stream();
          if (rank == 1) {
            stream->wait(semaphore_at(word, 0), 1);
            stream->run({"task", {1e9, DType::fp32, 0, 100}, {}});
          } else {
            stream->copy({target.span(), source.span(), Executor::dma, {}});
            stream->copy({target.span(), source.span(), Executor::kernel, {}});
            stream->signal(semaphore_at(word, 0), 1);
          }
          stream->synchronize(kDeadline);
        });
      },
      [] {});
}

}  // namespace
}  // namespace duet::sim
