#include "fabric/proxy/fifo.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/error.h"

namespace duet {
namespace {

struct Memory {
  explicit Memory(std::size_t capacity)
      : data(static_cast<std::byte*>(std::aligned_alloc(128, rounded(capacity)))) {}
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  static std::size_t rounded(std::size_t capacity) {
    return (Fifo::bytes(capacity) + 127) / 128 * 128;
  }
  std::byte* data;
};

constexpr std::uint64_t kEach = 5000;

void exchange(int producers, std::size_t capacity) {
  const Memory memory(capacity);
  Fifo fifo(memory.data, capacity);
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&fifo, p] {
      std::uint64_t ticket = 0;
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t message = static_cast<std::uint64_t>(p) * kEach + i;
        ticket = fifo.push({message, static_cast<double>(message)}, {});
      }
      EXPECT_TRUE(fifo.quiet(ticket, {}));
    });
  }
  std::vector<std::uint64_t> next(static_cast<std::size_t>(producers), 0);
  std::uint64_t popped = 0;
  for (ProxyCommand command; popped < kEach * static_cast<std::uint64_t>(producers);) {
    if (!fifo.pop(command)) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(command.pushed, static_cast<double>(command.message));
    EXPECT_EQ(command.message % kEach, next[command.message / kEach]++);
    fifo.complete(++popped);
  }
  for (std::thread& thread : threads) thread.join();
  ProxyCommand command;
  EXPECT_FALSE(fifo.pop(command));
}

TEST(Fifo, OneProducer) { exchange(1, 64); }
TEST(Fifo, SeveralProducers) { exchange(4, 64); }
TEST(Fifo, MoreProducersThanSlots) { exchange(4, 2); }
TEST(Fifo, OneSlot) { exchange(2, 1); }

TEST(Fifo, WaitsEndWhenTheCallerGivesUp) {
  const Memory memory(2);
  Fifo fifo(memory.data, 2);
  const auto no_longer = [] { return false; };
  EXPECT_EQ(fifo.push({1, 0}, no_longer), 1u);
  EXPECT_EQ(fifo.push({2, 0}, no_longer), 2u);
  EXPECT_EQ(fifo.push({3, 0}, no_longer), 0u);
  EXPECT_FALSE(fifo.quiet(1, no_longer));
  fifo.complete(1);
  EXPECT_TRUE(fifo.quiet(1, no_longer));
}

TEST(Fifo, CapacitiesArePowersOfTwo) {
  const Memory memory(4);
  EXPECT_THROW(Fifo(memory.data, 3), BadArgument);
  EXPECT_THROW(Fifo(memory.data, 0), BadArgument);
}

}  // namespace
}  // namespace duet
