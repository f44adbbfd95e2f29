// Streams, events and ranks of simulated machines: deadlocks, dropping, determinism.
#include "core/message_fixture.h"
#include "device/sim/sim_fixture.h"

namespace duet::sim {
namespace {

TEST_F(Sim, DeadlocksNameTheSemaphore) {
  open("h200-4");
  const Buffer words = device(0).allocate(64);
  const std::uint64_t four = 4;
  device(0).write(words.slice(0, 8), &four);
  auto stream = device(0).make_stream();
  stream->wait(semaphore_at(words, 0), 5);
  const std::string text = message_of<Timeout>([&] { stream->synchronize(kDeadline); });
  EXPECT_TRUE(contains(text, "deadlock"));
  EXPECT_TRUE(
      contains(text, "stream 0 of sim:h200-4:0 waits for a semaphore to be >= 5, which is 4"));
  device(0).signal(semaphore_at(words, 0), 5);
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
  stream->wait(semaphore_at(words, 0), 1);
  for (int i = 0; i < 300000; ++i) stream->record(*event);
  device(0).signal(semaphore_at(words, 0), 1);
  stream->synchronize(kDeadline);
  EXPECT_TRUE(event->done());
}

// An all-gather by DMA engines: each rank pushes a chunk to each peer, signals, and waits for all.
std::vector<double> all_gather(const std::string& platform) {
  auto machine = open_machine("sim:" + platform);
  const int n = machine->size();
  const std::size_t size = static_cast<std::size_t>(n);
  constexpr std::size_t kChunk = 100001;
  std::vector<Buffer> chunks(size), gathered(size), words(size);
  std::vector<double> times;
  int arrived = 0;
  machine->scheduler().run(n, [&](int rank) {
    const std::size_t r = static_cast<std::size_t>(rank);
    Device& device = machine->device(rank);
    auto stream = device.make_stream();
    chunks[r] = device.allocate(kChunk);
    gathered[r] = device.allocate(kChunk * size);
    words[r] = device.allocate(8 * size);
    stream->fill(words[r].span(), {FillKind::constant, 0, 0, DType::fp32});
    stream->fill(chunks[r].span(), {FillKind::pattern, r, 0, DType::fp32});
    stream->synchronize(kDeadline);
    machine->scheduler().update([&] { ++arrived; });
    machine->scheduler().wait("everybody's buffers", kDeadline, [&] { return arrived == n; });
    for (std::size_t step = 0; step < size; ++step) {
      const std::size_t peer = (r + step) % size;
      stream->copy({gathered[peer].slice(r * kChunk, kChunk), chunks[r].span(), Executor::dma, {}});
      stream->signal(semaphore_at(words[peer], r), 1);
    }
    for (std::size_t from = 0; from < size; ++from) stream->wait(semaphore_at(words[r], from), 1);
    stream->synchronize(kDeadline);
    times.push_back(machine->now());
    for (std::size_t from = 0; from < size; ++from) {
      EXPECT_FALSE(device.check(gathered[r].slice(from * kChunk, kChunk),
                                {FillKind::pattern, from, 0, DType::fp32}));
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
