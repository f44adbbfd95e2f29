// Blocks of a GPU push commands to a queue. Each command is popped once, those of a block in their
// order, and producers that nobody waits for end.
#include "fabric/proxy/producers.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "device/machine.h"
#include "fabric/proxy/fifo.h"

namespace duet {
namespace {

constexpr std::size_t kCapacity = 64;

class ProducersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      machine_ = open_machine("cuda:0");
    } catch (const Error& error) {
      GTEST_SKIP() << "--device cuda: " << error.what();
    }
    memory_ = std::make_unique<FifoMemory>(machine_->device(0), MemoryKind::pinned, kCapacity);
  }

  std::unique_ptr<Producers> make(Fifo& fifo, const ProducerTask& task) {
    return make_producers(machine_->device(0), fifo, task);
  }

  // Pops all that come until the producers have ended.
  void pass(const ProducerTask& task) {
    Fifo fifo = memory_->fifo();
    const auto producers = make(fifo, task);
    const auto blocks = static_cast<std::uint64_t>(task.producers);
    std::vector<std::uint64_t> next;
    for (std::uint64_t block = 0; block < blocks; ++block) next.push_back(block);
    const double begin = steady_now();
    producers->begin();
    std::uint64_t popped = 0;
    for (ProxyCommand command; !producers->ended();) {
      ASSERT_LT(steady_now() - begin, 60);
      if (!fifo.pop(command)) continue;
      ASSERT_EQ(command.message, next[command.message % blocks]);
      next[command.message % blocks] += blocks;
      const double pushed = command.pushed + producers->clock_offset();
      EXPECT_GT(pushed, begin - 1e-4);  // tolerance between the two clocks
      EXPECT_LT(pushed, steady_now() + 1e-4);
      fifo.complete(++popped);
    }
    EXPECT_EQ(popped, task.messages);
    EXPECT_GE(producers->end(), begin);
    EXPECT_EQ(producers->push_seconds().size(), task.messages);
  }

  std::unique_ptr<Machine> machine_;
  std::unique_ptr<FifoMemory> memory_;
};

TEST_F(ProducersTest, OneBlock) { pass({1, 5000, false}); }
TEST_F(ProducersTest, WaitsForEach) { pass({1, 500, true}); }
TEST_F(ProducersTest, ManyBlocks) { pass({128, 20000, false}); }
TEST_F(ProducersTest, ManyBlocksThatWaitForEach) { pass({128, 2000, true}); }
TEST_F(ProducersTest, MoreBlocksThanRunAtOnce) { pass({4000, 8000, false}); }

TEST_F(ProducersTest, ByManagedMemory) {
  memory_ = std::make_unique<FifoMemory>(machine_->device(0), MemoryKind::managed, kCapacity);
  pass({16, 2000, false});
  pass({16, 200, true});
}

TEST_F(ProducersTest, ByTheDevicesOwnMemory) {
  try {
    memory_ = std::make_unique<FifoMemory>(machine_->device(0), MemoryKind::device, kCapacity);
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  pass({16, 5000, false});
  pass({16, 500, true});
}

TEST_F(ProducersTest, LeaveBeforeTheyBegin) {
  Fifo fifo = memory_->fifo();
  const double begin = steady_now();
  make(fifo, {16, 1000, false}).reset();
  EXPECT_LT(steady_now() - begin, 5);
}

TEST_F(ProducersTest, LeaveWhileTheyWait) {
  Fifo fifo = memory_->fifo();
  auto producers = make(fifo, {16, 1000, false});
  producers->begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(producers->ended());
  const double begin = steady_now();
  producers.reset();
  EXPECT_LT(steady_now() - begin, 5);
}

}  // namespace
}  // namespace duet
