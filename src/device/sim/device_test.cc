// Simulated devices through the device interface: times that follow from the platform, contention,
// determinism, phantom memory, ranks. What all devices share is in tests/conformance.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/machine.h"
#include "device/sim/sim.h"

namespace duet::sim {
namespace {

constexpr double kDeadline = 100;

class Sim : public ::testing::Test {
 protected:
  void open(const std::string& platform) { machine_ = open_machine("sim:" + platform); }
  Device& device(int index) { return machine_->device(index); }

  double time(int index, const std::function<void(Stream&)>& work) {
    auto stream = device(index).make_stream();
    auto start = device(index).make_event(), end = device(index).make_event();
    stream->record(*start);
    work(*stream);
    stream->record(*end);
    stream->synchronize(kDeadline);
    return end->seconds_since(*start);
  }

  // GB/s of one copy from device `from` to device `to`, issued by `by`.
  double rate(std::uint64_t bytes, int from, int to, int by, Executor executor,
              KernelShape shape = {}) {
    const Buffer source = device(from).allocate(bytes), target = device(to).allocate(bytes);
    const double seconds = time(by, [&](Stream& stream) {
      stream.copy({target.span(), source.span(), executor, shape});
    });
    return static_cast<double>(bytes) / seconds / 1e9;
  }

  double tflops(GemmSize size) {
    const DeviceModel& model = *model_of(device(0));
    size.memory_bytes = 2 * (size.m * size.k + size.k * size.n + size.m * size.n);
    const double seconds = time(0, [&](Stream& stream) {
      stream.run({"gemm", gemm_demand(model, size), {}});
    });
    return 2 * size.m * size.n * size.k / seconds / 1e12;
  }

  std::unique_ptr<Machine> machine_;
};

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

TEST_F(Sim, TheSeedsCopyCurveOfMi300xFollowsFromLatencyAndLink) {
  open("mi300x-8");
  double last = 0;
  for (std::uint64_t bytes = 4 * kKiB; bytes <= 2 * kGiB; bytes *= 2) {
    const double gb = rate(bytes, 0, 1, 0, Executor::dma);
    EXPECT_GT(gb, last);
    EXPECT_LT(gb, 50.0) << bytes;
    if (bytes == 64 * kKiB || bytes == 128 * kKiB) {
      EXPECT_GE(gb, 5) << bytes;
      EXPECT_LE(gb, 17) << bytes;
    }
    if (bytes >= 16 * kMiB) {
      EXPECT_GE(gb, 42.5) << bytes;
    }
    last = gb;
  }
  EXPECT_LT(rate(2101346304, 0, 7, 0, Executor::dma), 50.0);
}

TEST_F(Sim, H200PeersGetWhatWasMeasured) {
  open("h200-8");
  const std::uint64_t large = 4 * kGiB;
  EXPECT_NEAR(rate(large, 0, 1, 0, Executor::dma), 391, 1);
  EXPECT_NEAR(rate(large, 0, 1, 1, Executor::dma), 372, 1);  // pulled
  EXPECT_NEAR(rate(large, 2, 5, 2, Executor::kernel), 367.5, 2.5);
}

TEST_F(Sim, KernelCopiesGrowWithGridAndBlockUntilTheLinkIsFull) {
  open("h200-4");
  const auto at = [&](int grid, int block) {
    return rate(kGiB, 0, 1, 0, Executor::kernel, {grid, block});
  };
  EXPECT_NEAR(at(1, 1024), 23, 0.1);
  EXPECT_NEAR(at(1, 256), 23.0 / 4, 0.1);
  EXPECT_NEAR(at(8, 1024), 8 * 23.0, 0.5);
  EXPECT_NEAR(at(264, 512), at(132, 1024), 0.5);  // two blocks to a unit
  EXPECT_NEAR(at(132, 1024), 368, 1);
}

TEST_F(Sim, LocalCopiesCountReadingAndWriting) {
  open("mi300x-8");
  EXPECT_NEAR(2 * rate(8 * kGiB, 0, 0, 0, Executor::kernel), 5300 * 0.8, 20);
}

TEST_F(Sim, HostCopiesGoOverTheHostLink) {
  open("h200-4");
  const auto from_host = [&](MemoryKind kind, Executor executor) {
    const Buffer source = device(0).allocate(kGiB, kind), target = device(0).allocate(kGiB);
    return static_cast<double>(kGiB) / 1e9 / time(0, [&](Stream& stream) {
             stream.copy({target.span(), source.span(), executor, {}});
           });
  };
  EXPECT_NEAR(from_host(MemoryKind::pinned, Executor::dma), 55, 0.1);
  EXPECT_NEAR(from_host(MemoryKind::pinned, Executor::kernel), 55, 0.1);
  EXPECT_NEAR(from_host(MemoryKind::plain, Executor::dma), 10, 0.1);
  EXPECT_NEAR(from_host(MemoryKind::pinned, Executor::host), 12, 0.1);
  EXPECT_THROW(from_host(MemoryKind::plain, Executor::kernel), BadArgument);
}

// All ordered pairs at once: a mesh has a link for each, a switch shares each port among seven.
double all_pairs_seconds(Machine& machine, std::uint64_t bytes) {
  const int n = machine.size();
  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Stream>> streams;
  const double begin = machine.now();
  for (int from = 0; from < n; ++from) {
    for (int step = 1; step < n; ++step) {
      const int to = (from + step) % n;
      buffers.push_back(machine.device(from).allocate(bytes));
      buffers.push_back(machine.device(to).allocate(bytes));
      streams.push_back(machine.device(from).make_stream());
      streams.back()->copy(
          {buffers.back().span(), buffers[buffers.size() - 2].span(), Executor::dma, {}});
    }
  }
  for (auto& stream : streams) stream->synchronize(kDeadline);
  return machine.now() - begin;
}

TEST_F(Sim, AllPairsShareWhatTheTopologyShares) {
  const double bytes = static_cast<double>(kGiB);
  open("mi300x-8");
  EXPECT_NEAR(all_pairs_seconds(*machine_, kGiB), bytes / 50e9, 1e-4);
  open("h200-8");
  EXPECT_NEAR(all_pairs_seconds(*machine_, kGiB), 7 * bytes / 391e9, 4e-3);
}

TEST_F(Sim, CopiesQueueForDmaEngines) {
  open("h200-4");  // three engines
  const Buffer from = device(0).allocate(kMiB), to = device(1).allocate(kMiB);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(device(0).make_stream());
    streams.back()->copy({to.slice(0, 0), from.slice(0, 0), Executor::dma, {}});
  }
  for (auto& stream : streams) stream->synchronize(kDeadline);
  EXPECT_DOUBLE_EQ(machine_->now(), 2 * 4e-6);  // three beside each other, then the fourth
}

TEST_F(Sim, GemmRatesAreThoseThatWereMeasured) {
  open("mi300x-8");
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::bf16, 0}), 620, 20);
  EXPECT_NEAR(tflops({16384, 16384, 16384, DType::bf16, 0}), 635, 30);
  open("h200-4");
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::bf16, 0}), 710, 40);
  EXPECT_NEAR(tflops({4096, 4096, 4096, DType::bf16, 0}), 680, 30);
  open("mi350x-8");  // the rows of the MI350X results
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::bf16, 0}), 1104, 15);
  EXPECT_NEAR(tflops({16384, 8192, 7168, DType::bf16, 0}), 1095, 30);
  EXPECT_NEAR(tflops({16384, 16384, 16384, DType::bf16, 0}), 1059, 90);
  EXPECT_NEAR(tflops({4096, 4096, 4096, DType::bf16, 0}), 969, 70);
  EXPECT_NEAR(tflops({16384, 8192, 1280, DType::bf16, 0}), 901, 20);
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::fp16, 0}), 1053, 15);
}

TEST_F(Sim, AWaveMoreCostsAWave) {
  open("mi300x-8");
  const auto seconds = [&](double workgroups) {
    return time(0, [&](Stream& stream) {
      stream.run({"t", {workgroups * 1e9, DType::bf16, 0, workgroups, 1}, {}});
    });
  };
  EXPECT_DOUBLE_EQ(seconds(304), seconds(1));
  EXPECT_NEAR((seconds(305) - 5e-6) / (seconds(304) - 5e-6), 2, 1e-9);
}

TEST_F(Sim, MemoryBoundTasksAreLimitedByMemory) {
  open("mi300x-8");
  const double seconds = time(0, [&](Stream& stream) {
    stream.run({"sweep", {1e6, DType::fp32, 4.24e9, 0, 1}, {}});
  });
  EXPECT_NEAR(seconds, 1e-3 + 5e-6, 1e-8);
}

TEST_F(Sim, ConcurrentTasksShareUnitsAndPriorityGoesFirst) {
  open("mi300x-8");
  const Task task{"t", {1e12, DType::bf16, 0, 0, 0.5}, {}};
  const double alone = time(0, [&](Stream& stream) { stream.run(task); }) - 5e-6;
  for (int priority : {0, 1}) {
    auto first = device(0).make_stream({0}), second = device(0).make_stream({priority});
    auto start = device(0).make_event(), end = device(0).make_event();
    second->record(*start);
    first->run(task);
    second->run(task);
    second->record(*end);
    first->synchronize(kDeadline);
    second->synchronize(kDeadline);
    EXPECT_NEAR(end->seconds_since(*start) - 5e-6, priority == 0 ? 2 * alone : alone, 1e-9);
  }
}

TEST_F(Sim, AKernelCopySlowsAComputeBoundTaskAndAnEngineCopyDoesNot) {
  open("mi300x-8");
  const Buffer from = device(0).allocate(kGiB), to = device(1).allocate(kGiB);
  const Task task{"gemm", {1e13, DType::bf16, 1e9, 0, 0.5}, {}};
  const auto with = [&](Executor executor) {
    auto beside = device(0).make_stream();
    for (int i = 0; i < 4; ++i) beside->copy({to.span(), from.span(), executor, {}});
    const double seconds = time(0, [&](Stream& stream) { stream.run(task); });
    beside->synchronize(kDeadline);
    return seconds;
  };
  const double alone = time(0, [&](Stream& stream) { stream.run(task); });
  EXPECT_NEAR(with(Executor::dma) / alone, 1, 1e-6);
  EXPECT_NEAR(with(Executor::kernel) / alone, 304.0 / 240.0, 0.01);  // 64 units lost
}

TEST_F(Sim, LargeBuffersArePhantom) {
  open("mi300x-8");
  const Buffer large = device(0).allocate(kGiB), other = device(0).allocate(kGiB);
  const Buffer small = device(0).allocate(4096);
  EXPECT_FALSE(device(0).has_contents(large.span()));
  EXPECT_FALSE(device(0).has_contents(large.slice(0, 64)));
  EXPECT_TRUE(device(0).has_contents(small.span()));
  EXPECT_NE(large.span().data, other.span().data);
  char byte = 0;
  EXPECT_THROW(device(0).read(large.slice(5, 1), &byte), BadArgument);
  EXPECT_THROW(device(0).write(large.slice(5, 1), &byte), BadArgument);
  EXPECT_THROW(device(0).check(large.span(), {}), BadArgument);
  EXPECT_THROW(device(0).signal(flag_at(large, 0), 1), BadArgument);
  auto stream = device(0).make_stream();
  EXPECT_THROW(stream->wait(flag_at(large, 0), 1), BadArgument);
  stream->fill(large.span(), {});
  stream->copy({large.slice(0, 4096), small.span(), Executor::dma, {}});
  stream->copy({small.span(), large.slice(7, 4096), Executor::dma, {}});
  stream->synchronize(kDeadline);
  EXPECT_FALSE(device(0).check(small.span(), {Fill::Kind::constant, 0xDB, 0, DType::fp32}));
}

TEST_F(Sim, SpansMustLieInABufferOfTheMachine) {
  open("h200-4");
  const Buffer buffer = device(0).allocate(4096);
  auto stream = device(0).make_stream();
  Span beyond = buffer.span();
  beyond.bytes = 4097;
  EXPECT_THROW(stream->fill(beyond, {}), BadArgument);
  Span elsewhere = buffer.span();
  elsewhere.owner = &device(1);
  EXPECT_THROW(stream->fill(elsewhere, {}), BadArgument);
  Span null{&device(0), nullptr, 16, MemoryKind::device};
  EXPECT_THROW(stream->fill(null, {}), BadArgument);
  auto twin = open_machine("sim:h200-4");
  EXPECT_THROW(stream->fill(twin->device(0).allocate(64).span(), {}), BadArgument);
  EXPECT_THROW(stream->run({"t", {-1, DType::bf16, 0, 0, 1}, {}}), BadArgument);
  EXPECT_THROW(stream->run({"t", {1, DType::bf16, 0, 0, 1.5}, {}}), BadArgument);
  EXPECT_THROW(stream->run({"t", {1, DType::int32, 0, 0, 1}, {}}), Unavailable);
  stream->fill(buffer.span(), {});
  stream->synchronize(kDeadline);
}

TEST_F(Sim, MemoryIsCounted) {
  open("h200-4");
  const std::uint64_t most = device(0).info().memory_bytes / 2 + 512;
  Buffer half = device(0).allocate(most);
  EXPECT_THROW(device(0).allocate(most), OutOfMemory);
  EXPECT_EQ(device(1).allocate(most).bytes(), most);
  EXPECT_EQ(device(0).allocate(most, MemoryKind::pinned).bytes(), most);
  half.reset();
  EXPECT_EQ(device(0).allocate(most).bytes(), most);
}

// A repeated copy is not moved again, unless something has changed in between.
TEST_F(Sim, RepeatedCopiesSeeEveryChange) {
  open("h200-4");
  const Buffer from = device(0).allocate(4096), to = device(1).allocate(4096);
  auto stream = device(0).make_stream();
  const auto copied = [&](std::uint64_t seed) {
    stream->copy({to.span(), from.span(), Executor::dma, {}});
    stream->copy({to.span(), from.span(), Executor::dma, {}});
    stream->synchronize(kDeadline);
    return !device(1).check(to.span(), {Fill::Kind::pattern, seed, 0, DType::fp32}).has_value();
  };
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    stream->fill(from.span(), {Fill::Kind::pattern, seed, 0, DType::fp32});
    EXPECT_TRUE(copied(seed));
    auto other = device(1).make_stream();
    other->fill(to.span(), {Fill::Kind::constant, 0, 0, DType::fp32});
    other->synchronize(kDeadline);
    EXPECT_TRUE(copied(seed));
  }
}

TEST_F(Sim, DeadlocksNameTheFlag) {
  open("h200-4");
  const Buffer words = device(0).allocate(64);
  const std::uint64_t four = 4;
  device(0).write(words.slice(0, 8), &four);
  auto stream = device(0).make_stream();
  stream->wait(flag_at(words, 0), 5);
  try {
    stream->synchronize(kDeadline);
    FAIL();
  } catch (const Timeout& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
    EXPECT_NE(text.find("stream 0 of sim:h200-4:0 waits for a flag to be >= 5, which is 4"),
              std::string::npos)
        << text;
  }
  device(0).signal(flag_at(words, 0), 5);
  stream->synchronize(kDeadline);
}

TEST_F(Sim, DroppedStreamsGiveBackWhatTheyHold) {
  open("h200-4");
  const Buffer from = device(0).allocate(kGiB), to = device(1).allocate(kGiB);
  const double alone = rate(kGiB, 0, 1, 0, Executor::dma);
  for (int round = 0; round < 5; ++round) {
    auto stream = device(0).make_stream();
    for (int i = 0; i < 3; ++i) stream->copy({to.span(), from.span(), Executor::dma, {}});
    auto event = device(0).make_event();
    EXPECT_FALSE(stream->idle());
  }
  EXPECT_DOUBLE_EQ(rate(kGiB, 0, 1, 0, Executor::dma), alone);
}

TEST_F(Sim, EventsOfTwoDevicesCannotBeSubtracted) {
  open("h200-4");
  auto a = device(0).make_event(), b = device(1).make_event();
  auto on_a = device(0).make_stream(), on_b = device(1).make_stream();
  on_a->record(*a);
  on_b->record(*b);
  EXPECT_THROW(a->seconds_since(*b), BadArgument);
}

TEST_F(Sim, ManyInstantOperationsDoNotPileUp) {
  open("h200-4");
  auto stream = device(0).make_stream();
  auto event = device(0).make_event();
  const Buffer words = device(0).allocate(8);
  const std::uint64_t zero = 0;
  device(0).write(words.span(), &zero);
  stream->wait(flag_at(words, 0), 1);
  for (int i = 0; i < 300000; ++i) stream->record(*event);
  device(0).signal(flag_at(words, 0), 1);
  stream->synchronize(kDeadline);
  EXPECT_TRUE(event->done());
}

// Ranks that push a chunk to each peer, signal and wait for all: an all-gather by engines.
std::vector<double> all_gather(const std::string& platform) {
  auto machine = open_machine("sim:" + platform);
  const int n = machine->size();
  const std::size_t size = static_cast<std::size_t>(n);
  constexpr std::size_t kChunk = 100001;
  std::vector<Buffer> chunks(size), gathered(size), words(size);
  std::vector<double> times;
  int arrived = 0;
  machine->turns().run(n, [&](int rank) {
    const std::size_t r = static_cast<std::size_t>(rank);
    Device& device = machine->device(rank);
    auto stream = device.make_stream();
    chunks[r] = device.allocate(kChunk);
    gathered[r] = device.allocate(kChunk * size);
    words[r] = device.allocate(8 * size);
    stream->fill(words[r].span(), {Fill::Kind::constant, 0, 0, DType::fp32});
    stream->fill(chunks[r].span(), {Fill::Kind::pattern, r, 0, DType::fp32});
    stream->synchronize(kDeadline);
    machine->turns().update([&] { ++arrived; });
    machine->turns().wait("everybody's buffers", kDeadline, [&] { return arrived == n; });
    for (std::size_t step = 0; step < size; ++step) {
      const std::size_t peer = (r + step) % size;
      stream->copy({gathered[peer].slice(r * kChunk, kChunk), chunks[r].span(), Executor::dma, {}});
      stream->signal(flag_at(words[peer], r), 1);
    }
    for (std::size_t from = 0; from < size; ++from) stream->wait(flag_at(words[r], from), 1);
    stream->synchronize(kDeadline);
    times.push_back(machine->now());
    for (std::size_t from = 0; from < size; ++from) {
      EXPECT_FALSE(device.check(gathered[r].slice(from * kChunk, kChunk),
                                {Fill::Kind::pattern, from, 0, DType::fp32}));
    }
  });
  return times;
}

TEST(SimRanks, GatherTheSameDataInTheSameTimeToTheBit) {
  for (const char* platform : {"mi300x-8", "h200-8"}) {
    const std::vector<double> first = all_gather(platform);
    EXPECT_EQ(first.size(), 8u);
    EXPECT_GT(first[0], 0);
    EXPECT_EQ(first, all_gather(platform));
  }
}

}  // namespace
}  // namespace duet::sim
