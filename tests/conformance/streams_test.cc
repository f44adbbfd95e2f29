// Streams: order, independence, priorities, deadlines, errors.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/message_fixture.h"
#include "devices.h"

namespace duet::conformance {
namespace {

// Keeps all workers of a host device except one busy while it lives. A host device has one worker
// per core, and at least two.
class Held {
 public:
  explicit Held(Device& device) {
    if (device.info().kind != "host") return;
    for (int i = 1; i < std::max(2, device.info().compute_units); ++i) {
      streams_.push_back(device.make_stream());
      streams_.back()->run({"hold", {}, [this] {
                              ++running_;
                              while (!over_)
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                            }});
    }
    while (running_ < static_cast<int>(streams_.size())) std::this_thread::yield();
  }
  ~Held() { over_ = true; }

 private:
  std::atomic<int> running_{0};
  std::atomic<bool> over_{false};
  std::vector<std::unique_ptr<Stream>> streams_;  // destroyed first: each waits for its task
};

class Streams : public DeviceTest {
 protected:
  bool runs_tasks() { return device().info().kind == "host" || device().info().kind == "sim"; }
};

TEST_P(Streams, RunTheirWorkInOrder) {
  constexpr std::size_t kBytes = 1 << 20;
  const Buffer a = device().allocate(kBytes), b = device().allocate(kBytes);
  auto stream = device().make_stream();
  for (std::uint64_t round = 0; round < 20; ++round) {
    stream->fill(a.span(), pattern(round));
    const Executor executor = round % 2 == 0 ? Executor::dma : Executor::kernel;
    stream->copy({b.span(), a.span(), executor, {}});
    stream->fill(a.span(), constant(0));
  }
  stream->synchronize(kDeadline);
  EXPECT_FALSE(device().check(b.span(), pattern(19)).has_value());
  EXPECT_FALSE(device().check(a.span(), constant(0)).has_value());
}

TEST_P(Streams, EnqueueWithoutBlocking) {
  const Buffer gate = filled(device(), 8, constant(0), MemoryKind::pinned);
  const Buffer buffer = device().allocate(1 << 16);
  auto stream = device().make_stream();
  stream->wait(semaphore_at(gate, 0), 1);
  for (int i = 0; i < 100; ++i) stream->fill(buffer.span(), pattern(static_cast<unsigned>(i)));
  EXPECT_FALSE(stream->idle());  // the fills were enqueued without blocking
  device().signal(semaphore_at(gate, 0), 1);
  stream->synchronize(kDeadline);
  EXPECT_TRUE(stream->idle());
  EXPECT_FALSE(device().check(buffer.span(), pattern(99)).has_value());
}

TEST_P(Streams, GiveUpAtTheDeadlineAndSayWhere) {
  const Buffer gate = filled(device(), 8, constant(0), MemoryKind::pinned);
  auto stream = device().make_stream();
  stream->wait(semaphore_at(gate, 0), 1);
  EXPECT_TRUE(contains(message_of<Error>([&] { stream->synchronize(0.05); }),
                       device().info().name.substr(0, 3)));
  device().signal(semaphore_at(gate, 0), 1);
  stream->synchronize(kDeadline);
}

TEST_P(Streams, TakeAnyPriority) {
  const Buffer buffer = device().allocate(4096);
  EXPECT_GE(device().info().priorities, 1);
  for (int priority : {-5, 0, 1, 100}) {
    auto stream = device().make_stream({priority});
    stream->fill(buffer.span(), pattern(1));
    stream->synchronize(kDeadline);
  }
}

TEST_P(Streams, LeaveSomeUnitsToOthers) {
  const DeviceInfo& info = device().info();
  if (info.unit_grain == 0) {
    EXPECT_THROW(device().make_stream({0, info.compute_units + 1}), Unavailable);
    return;
  }
  const Buffer buffer = device().allocate(1 << 20);
  for (const int left_out : {info.unit_grain, 2 * info.unit_grain}) {
    auto stream = device().make_stream({0, info.compute_units - left_out});
    stream->fill(buffer.span(), pattern(1));
    stream->synchronize(kDeadline);
    EXPECT_FALSE(device().check(buffer.span(), pattern(1)));
  }
  for (const int units : {-1, info.compute_units + 1}) {
    EXPECT_THROW(device().make_stream({0, units}), BadArgument) << units;
  }
}

// Devices that run tasks show the order in which streams run. If only one stream can run, the task
// of the stream with higher priority starts first, although it was enqueued last.
TEST_P(Streams, OfHigherPriorityGoFirst) {
  if (!runs_tasks()) GTEST_SKIP() << "order of kernels cannot be seen from outside";
  const Held held(device());
  const Buffer gate = filled(device(), 8, constant(0), MemoryKind::pinned);
  auto low = device().make_stream({0}), high = device().make_stream({1});
  std::mutex mutex;
  std::string order;
  const auto task = [&](char who) {
    return Task{"task", {1e9, DType::fp32, 0, 0, 1}, [&, who] {
                  const std::lock_guard<std::mutex> lock(mutex);
                  order += who;
                }};
  };
  low->wait(semaphore_at(gate, 0), 1);
  high->wait(semaphore_at(gate, 0), 1);
  low->run(task('l'));
  high->run(task('h'));
  device().signal(semaphore_at(gate, 0), 1);
  low->synchronize(kDeadline);
  high->synchronize(kDeadline);
  EXPECT_EQ(order, "hl");
}

TEST_P(Streams, ReportATaskThatThrowsAndGoOn) {
  if (!runs_tasks()) GTEST_SKIP() << "runs only its own kernels";
  auto stream = device().make_stream();
  auto event = device().make_event();
  stream->run({"bad", {}, [] { throw Mismatch("from inside a task"); }});
  stream->record(*event);
  EXPECT_THROW(stream->synchronize(kDeadline), Mismatch);
  event->synchronize(kDeadline);
  std::atomic<bool> ran{false};
  stream->run({"good", {}, [&] { ran = true; }});
  stream->synchronize(kDeadline);
  EXPECT_TRUE(ran);
}

TEST_P(Streams, ThatRunNoTasksSaySo) {
  if (runs_tasks()) GTEST_SKIP() << "runs tasks";
  auto stream = device().make_stream();
  EXPECT_THROW(stream->run({"task", {}, [] {}}), Unavailable);
}

TEST_P(Streams, CanBeDroppedWhileWorkIsQueued) {
  const Buffer buffer = device().allocate(1 << 20);
  for (int i = 0; i < 10; ++i) {
    auto stream = device().make_stream();
    for (int k = 0; k < 10; ++k) stream->fill(buffer.span(), pattern(static_cast<unsigned>(k)));
  }
  auto last = device().make_stream();
  last->synchronize(kDeadline);
}

TEST_P(Streams, AreWaitedForByFinish) {
  if (device().info().kind == "sim") GTEST_SKIP() << "work goes on only while ranks wait";
  constexpr std::size_t kBytes = 8 << 20;
  const Buffer a = device().allocate(kBytes), b = device().allocate(kBytes);
  const auto filling = device().make_stream(), copying = device().make_stream();
  const auto filled = device().make_event(EventUse::order);
  for (std::uint64_t round = 0; round < 10; ++round) {
    if (runs_tasks()) {
      filling->run(
          {"delay", {}, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }});
    }
    filling->fill(a.span(), pattern(round));
    filling->record(*filled);
    copying->wait(*filled);
    copying->copy({b.span(), a.span(), Executor::kernel, {}});
    device().finish(kDeadline);
    EXPECT_FALSE(device().check(b.span(), pattern(round)).has_value()) << round;
  }
}

// After a failure waits are released only some time later, and what is behind them then accesses
// memory that is to be freed.
TEST_P(Streams, AreWaitedForByFinishWhereTheyWait) {
  if (device().info().kind == "sim") GTEST_SKIP() << "work goes on only while ranks wait";
  constexpr std::size_t kBytes = 1 << 20;
  const Buffer a = device().allocate(kBytes), b = device().allocate(kBytes);
  const Buffer words = device().allocate_coherent(sizeof(std::uint64_t));
  const std::uint64_t zero = 0;
  device().write(words.span(), &zero);
  const Semaphore semaphore = semaphore_at(words, 0);
  const auto stream = device().make_stream();
  stream->fill(a.span(), pattern(1));
  stream->handshake({{}, {semaphore}});
  stream->copy({b.span(), a.span(), Executor::kernel, {}});
  EXPECT_THROW(device().finish(0.05), Timeout);
  std::thread releasing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    device().signal(semaphore, 1);
  });
  device().finish(kDeadline);
  releasing.join();
  EXPECT_FALSE(device().check(b.span(), pattern(1)).has_value());
}

// On host devices the stream that is destroyed has dropped the record.
TEST_P(Streams, ThatWaitForAnEventOfADestroyedOneDoNotHoldUpFinish) {
  if (device().info().kind == "sim") GTEST_SKIP() << "work goes on only while ranks wait";
  const Buffer words = device().allocate_coherent(sizeof(std::uint64_t));
  const std::uint64_t zero = 0;
  device().write(words.span(), &zero);
  const auto waiting = device().make_stream();
  const auto event = device().make_event(EventUse::order);
  {
    const auto held = device().make_stream();
    held->handshake({{}, {semaphore_at(words, 0)}});
    held->record(*event);
    waiting->wait(*event);
  }
  device().signal(semaphore_at(words, 0), 1);
  device().finish(kDeadline);
}

TEST_P(Streams, OfTheUsersAreWrappedAndStay) {
  auto users = device().make_stream();
  if (users->native() == nullptr) {
    EXPECT_THROW(device().wrap(nullptr), Unavailable);
    return;
  }
  const Buffer buffer = device().allocate(1000);
  for (void* native : {users->native(), static_cast<void*>(nullptr)}) {
    const auto wrapped = device().wrap(native);
    EXPECT_EQ(wrapped->native(), native);
    EXPECT_EQ(&wrapped->device(), &device());
    wrapped->fill(buffer.span(), constant(7));
    wrapped->synchronize(kDeadline);
    EXPECT_FALSE(device().check(buffer.span(), constant(7)));
  }
  users->fill(buffer.span(), constant(8));
  users->synchronize(kDeadline);
  EXPECT_FALSE(device().check(buffer.span(), constant(8)));
}

TEST_P(Streams, OfAnotherDeviceAreNotWrapped) {
  if (!peer_is_another()) GTEST_SKIP() << "skipped: needs two devices";
  const auto others = machine_->device(1).make_stream();
  if (others->native() == nullptr) return;
  EXPECT_THROW(device().wrap(others->native()), BadArgument);
  EXPECT_NO_THROW(machine_->device(1).wrap(others->native()));
}

TEST_P(Streams, DescribeTheirDevice) {
  auto stream = device().make_stream();
  EXPECT_EQ(&stream->device(), &device());
  const DeviceInfo& info = device().info();
  EXPECT_FALSE(info.model.empty());
  EXPECT_GT(info.compute_units, 0);
  EXPECT_GT(info.memory_bytes, 0u);
  for (int to = 0; to < machine_->size(); ++to) EXPECT_FALSE(machine_->link(0, to).kind.empty());
}

DUET_CONFORMANCE(Streams);

}  // namespace
}  // namespace duet::conformance
