// Streams for copies by SDMA engines: a queue's packets wait, engines copy, and what is enqueued on
// them, on other such streams and on HIP's keeps its order.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/error.h"
#include "device/engine_streams.h"
#include "device/graph.h"
#include "device/hip/hsa.h"
#include "device/machine.h"
#include "fake_gpu/hip/runtime.h"
#include "fake_gpu/variable.h"

namespace duet {
namespace {

constexpr double kLaneDeadline = 60;
constexpr std::size_t kMoved = 200'000;
constexpr int kRounds = 20;

Fill bytes_of(int round) {
  return {FillKind::pattern, static_cast<std::uint64_t>(round), 0, DType::fp32};
}

class EngineStreamTest : public ::testing::Test {
 protected:
  EngineStreamTest() : machine_(open_machine("hip")) {
    for (int i = 0; i < 3; ++i) {
      memory_.push_back(device(i).allocate(kMoved));
      device(i).write(memory_.back().span(), std::vector<std::byte>(kMoved).data());
      words_.push_back(spaced(i));
    }
  }
  Device& device(int i) { return machine_->device(i); }
  std::unique_ptr<Stream> lane(int i) {
    return dynamic_cast<EngineStreams&>(device(i)).make_engine_stream({});
  }
  Buffer spaced(int i) {
    Buffer words = dynamic_cast<EngineStreams&>(device(i)).allocate_spaced(2 * kSpacedBytes);
    std::uint64_t image[2 * kSpacedBytes / sizeof(std::uint64_t)] = {};
    image[0] = image[kSpacedBytes / sizeof(std::uint64_t)] = kSpacedFirst;
    device(i).write(words.span(), image);
    return words;
  }
  Semaphore word(int owner, std::size_t index) {
    return spaced_semaphore_at(words_[static_cast<std::size_t>(owner)].span(), index);
  }
  std::uint64_t value_of(const Semaphore& semaphore) {
    std::uint64_t value = 0;
    semaphore.word.owner->read(semaphore.word, &value);
    return value;
  }
  Copy push(int to, int from, Executor executor = Executor::sdma) const {
    return {memory_[static_cast<std::size_t>(to)].span(),
            memory_[static_cast<std::size_t>(from)].span(),
            executor,
            {}};
  }
  bool has(int owner, int round) {
    return !device(owner).check(memory_[static_cast<std::size_t>(owner)].span(), bytes_of(round));
  }
  void fill(int owner, int round) {
    const auto stream = device(owner).make_stream();
    stream->fill(memory_[static_cast<std::size_t>(owner)].span(), bytes_of(round));
    stream->synchronize(kLaneDeadline);
  }

  std::unique_ptr<Machine> machine_;
  std::vector<Buffer> memory_, words_;
};

void soon() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

TEST_F(EngineStreamTest, WaitsForASemaphoreAndSetsItBack) {
  const auto stream = lane(0);
  for (int round = 1; round <= 5; ++round) {
    fill(0, round);
    stream->handshake({{}, {word(0, 0)}});
    stream->copy(push(1, 0));
    soon();
    EXPECT_FALSE(stream->idle());
    EXPECT_FALSE(has(1, round)) << "before the signal";
    device(0).signal(word(0, 0), 1);
    stream->synchronize(kLaneDeadline);
    EXPECT_TRUE(has(1, round));
    EXPECT_EQ(value_of(word(0, 0)), 0u);
  }
}

// The wait, the copy, the signal and the event are no work of HIP's streams.
TEST_F(EngineStreamTest, WaitsWithoutKernels) {
  const auto stream = lane(0);
  const auto end = device(0).make_event(EventUse::order);
  const std::size_t before = fake_gpu::stream_waits();
  stream->handshake({{}, {word(0, 0)}});
  stream->copy(push(1, 0));
  stream->handshake({{word(1, 0)}, {}});
  stream->record(*end);
  EXPECT_EQ(fake_gpu::stream_waits(), before);
  device(0).signal(word(0, 0), 1);
  end->synchronize(kLaneDeadline);
  EXPECT_EQ(value_of(word(1, 0)), 1u);
}

// Work of HIP's stream, a fork to a lane, and a join, many times in a row without a stop.
TEST_F(EngineStreamTest, ForksFromAndJoinsAStreamOfHips) {
  const auto main = device(0).make_stream();
  const auto stream = lane(0);
  const auto begin = device(0).make_event(EventUse::order),
             end = device(0).make_event(EventUse::order);
  std::vector<Buffer> seen;
  for (int round = 1; round <= kRounds; ++round) {
    seen.push_back(device(0).allocate(kMoved));
    main->fill(memory_[0].span(), bytes_of(round));
    main->record(*begin);
    stream->wait(*begin);
    stream->copy(push(1, 0));
    stream->record(*end);
    main->wait(*end);
    main->copy({seen.back().span(), memory_[1].span(), Executor::kernel, {}});
  }
  main->synchronize(kLaneDeadline);
  for (int round = 1; round <= kRounds; ++round) {
    const Span& one = seen[static_cast<std::size_t>(round - 1)].span();
    ASSERT_FALSE(device(0).check(one, bytes_of(round)).has_value()) << round;
  }
}

TEST_F(EngineStreamTest, SignalsAfterTheBytesHaveArrived) {
  const auto sender = lane(0);
  const auto receiver = device(1).make_stream();
  const Buffer seen = device(1).allocate(kMoved);
  for (int round = 1; round <= kRounds; ++round) {
    sender->fill(memory_[0].span(), bytes_of(round));
    sender->copy(push(1, 0));
    sender->handshake({{word(1, 0)}, {}});
    receiver->handshake({{}, {word(1, 0)}});
    receiver->copy({seen.span(), memory_[1].span(), Executor::kernel, {}});
    receiver->synchronize(kLaneDeadline);
    ASSERT_FALSE(device(1).check(seen.span(), bytes_of(round)).has_value()) << round;
  }
}

// The engine is busy with a copy that waits. The semaphore is signalled in the batch of the bytes.
TEST_F(EngineStreamTest, SignalsAndReachesAnEventBehindItsCopies) {
  const hip::Hsa& hsa = hip::Hsa::instance();
  const hip::Hsa::Agent to = hsa.owner_of(memory_[1].span().data),
                        from = hsa.owner_of(memory_[0].span().data);
  const hip::Hsa::Signal gate = hsa.make_signal(), ended = hsa.make_signal();
  const std::uint32_t engine = hsa.engines(to, from);
  ASSERT_EQ(
      hsa.copy({memory_[1].span().data, to, memory_[0].span().data, from, 8, engine, &gate, ended}),
      hip::Hsa::kSuccess);
  const auto stream = lane(0);
  const auto end = device(0).make_event(EventUse::order);
  fill(0, 7);
  stream->handshake({{}, {word(0, 0)}});
  stream->copy(push(1, 0));
  stream->handshake({{word(1, 0)}, {}});
  stream->record(*end);
  device(0).signal(word(0, 0), 1);
  soon();
  EXPECT_FALSE(end->done());
  EXPECT_EQ(value_of(word(1, 0)), 0u);
  EXPECT_FALSE(stream->idle());
  hsa.set(gate, 0);
  end->synchronize(kLaneDeadline);
  EXPECT_TRUE(has(1, 7));
  EXPECT_EQ(value_of(word(1, 0)), 1u);
  for (const hip::Hsa::Signal each : {gate, ended}) hsa.destroy(each);
}

// Two lanes in turn, by events alone: from device 0 to 1, and from there to 2.
TEST_F(EngineStreamTest, OrdersLanesByEvents) {
  const auto first = lane(0), second = lane(1);
  const auto there = device(0).make_event(EventUse::order),
             back = device(1).make_event(EventUse::order);
  for (int round = 1; round <= kRounds; ++round) {
    first->wait(*back);
    first->fill(memory_[0].span(), bytes_of(round));
    first->copy(push(1, 0));
    first->record(*there);
    second->wait(*there);
    second->copy(push(2, 1));
    second->record(*back);
  }
  second->synchronize(kLaneDeadline);
  EXPECT_TRUE(has(2, kRounds));
}

// Kernels on the lane itself, before copies and behind them.
TEST_F(EngineStreamTest, KeepsTheOrderOfKernelsAndCopies) {
  const auto stream = lane(0);
  const Buffer seen = device(0).allocate(kMoved);
  for (int round = 1; round <= kRounds; ++round) {
    stream->fill(memory_[0].span(), bytes_of(round));
    stream->copy(push(1, 0));
    stream->copy({seen.span(), memory_[1].span(), Executor::kernel, {}});
    stream->fill(memory_[0].span(), bytes_of(0));
  }
  stream->synchronize(kLaneDeadline);
  EXPECT_FALSE(device(0).check(seen.span(), bytes_of(kRounds)).has_value());
}

// Of a plain semaphore, whose word a queue cannot wait for.
TEST_F(EngineStreamTest, WaitsForPlainSemaphoresToo) {
  Buffer plain = device(0).allocate_coherent(16);
  device(0).write(plain.span(), std::vector<std::byte>(16).data());
  const auto stream = lane(0);
  fill(0, 3);
  stream->handshake({{}, {semaphore_at(plain, 1)}});
  stream->copy(push(1, 0));
  soon();
  EXPECT_FALSE(has(1, 3));
  device(0).signal(semaphore_at(plain, 1), 1);
  stream->synchronize(kLaneDeadline);
  EXPECT_TRUE(has(1, 3));
}

TEST_F(EngineStreamTest, MoreWorkThanAQueueHasRoomFor) {
  const auto stream = lane(0);
  fill(0, 4);
  for (int i = 0; i < 600; ++i) {
    stream->signal(word(1, 0), 1);
    stream->wait(word(1, 0), 1);
  }
  stream->copy(push(1, 0));
  stream->synchronize(kLaneDeadline);
  EXPECT_TRUE(has(1, 4));
}

TEST_F(EngineStreamTest, ACopyThatIsNotTakenIsItsError) {
  const auto stream = lane(0);
  const auto main = device(0).make_stream();
  const auto end = device(0).make_event(EventUse::order);
  fill(0, 5);
  {
    const Variable setting("DUET_STANDIN", "sdma-fails");
    stream->copy(push(1, 0));
    stream->record(*end);
    main->wait(*end);
    try {
      main->synchronize(kLaneDeadline);
      FAIL() << "the copy failed";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("200000 bytes by SDMA 2: out of resources"),
                std::string::npos)
          << error.what();
    }
  }
  stream->copy(push(1, 0));
  stream->synchronize(kLaneDeadline);
  EXPECT_TRUE(has(1, 5));
}

TEST_F(EngineStreamTest, SaysWhatItCannotDo) {
  const auto stream = lane(0);
  EXPECT_THROW(capture(*stream, [] {}), Unavailable);
  const Buffer pageable = device(0).allocate(kMoved, MemoryKind::pageable);
  EXPECT_THROW(stream->copy({memory_[0].span(), pageable.span(), Executor::sdma, {}}), Unavailable);
  EXPECT_THROW(stream->copy(push(2, 1)), BadArgument) << "neither side is its device's";
  stream->copy(push(1, 0));
  stream->synchronize(kLaneDeadline);
  const Variable setting("DUET_STANDIN", "no-queues");
  EXPECT_THROW(lane(1), Unavailable);
}

TEST_F(EngineStreamTest, IsDestroyedWhileItWaits) {
  for (const int to : {1, 2}) device(0).copy_engine(push(to, 0));
  const auto before = fake_gpu::live();
  {
    const auto stream = lane(0);
    fill(0, 6);
    stream->copy(push(1, 0));
    stream->wait(word(0, 1), 1);
    stream->copy(push(2, 0));
    soon();
  }
  EXPECT_EQ(fake_gpu::live(), before);
  EXPECT_TRUE(has(1, 6));
  EXPECT_FALSE(has(2, 6));
}

// A word that is not in the form of a signal, and memory that was freed.
TEST_F(EngineStreamTest, QueuesOfTheStandInRefuseWhatIsNoSignal) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto waits = [this](bool freed) {
    const Buffer broken = spaced(0);
    device(0).write(broken.span(), std::vector<std::byte>(2 * kSpacedBytes).data());
    const auto stream = lane(0);
    stream->wait(spaced_semaphore_at(freed ? words_[0].span() : broken.span(), 0), 1);
    if (freed) {
      soon();
      words_.clear();
    }
    std::this_thread::sleep_for(std::chrono::seconds(20));
  };
  EXPECT_DEATH(waits(false), "expected the kind 1 before a signal's value");
  EXPECT_DEATH(waits(true), "a signal of a queue's packet");
}

}  // namespace
}  // namespace duet
