// Semaphores: signals and waits across streams, devices and the CPU.
#include "devices.h"

namespace duet::conformance {
namespace {

class Semaphores : public DeviceTest {};

TEST_P(Semaphores, HoldAStreamUntilTheCpuSignals) {
  for (MemoryKind kind : {MemoryKind::device, MemoryKind::pinned}) {
    const Buffer words =
        kind == MemoryKind::device ? zeroed(device(), 64) : filled(device(), 64, constant(0), kind);
    auto stream = device().make_stream();
    stream->wait(semaphore_at(words, 3), 5);
    EXPECT_FALSE(stream->idle());
    device().signal(semaphore_at(words, 3), 4);
    EXPECT_FALSE(stream->idle());
    device().signal(semaphore_at(words, 3), 5);
    stream->synchronize(kDeadline);
  }
}

TEST_P(Semaphores, AreWaitedForWithGreaterOrEqual) {
  const Buffer words = filled(device(), 64, constant(0), MemoryKind::pinned);
  auto stream = device().make_stream();
  device().signal(semaphore_at(words, 0), 100);
  stream->wait(semaphore_at(words, 0), 7);
  stream->wait(semaphore_at(words, 0), 100);
  stream->synchronize(kDeadline);
}

TEST_P(Semaphores, CarryDataToAPeer) {
  constexpr std::size_t kBytes = 2 << 20;
  const Buffer source = device().allocate(kBytes);
  const Buffer landing = peer().allocate(kBytes), result = peer().allocate(kBytes);
  const Buffer words = zeroed(peer(), 64);
  auto sender = device().make_stream();
  auto receiver = peer().make_stream();
  for (std::uint64_t round = 1; round <= 8; ++round) {
    receiver->wait(semaphore_at(words, 1), round);
    receiver->copy({result.span(), landing.span(), Executor::kernel, {}});
    sender->fill(source.span(), pattern(round));
    sender->copy({landing.span(), source.span(), Executor::dma, {}});
    sender->signal(semaphore_at(words, 1), round);
    receiver->synchronize(kDeadline);
    ASSERT_FALSE(peer().check(result.span(), pattern(round)).has_value()) << round;
    sender->synchronize(kDeadline);
  }
}

// Each device signals its right neighbour and waits for its left one: a barrier on the devices.
TEST_P(Semaphores, GoRoundARing) {
  const int n = machine_->size();
  std::vector<Buffer> words;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < n; ++i) {
    words.push_back(zeroed(device(i), 8));
    streams.push_back(device(i).make_stream());
  }
  for (std::uint64_t round = 1; round <= 10; ++round) {
    for (int i = 0; i < n; ++i) {
      Stream& stream = *streams[static_cast<std::size_t>(i)];
      stream.signal(semaphore_at(words[static_cast<std::size_t>((i + 1) % n)], 0), round);
      stream.wait(semaphore_at(words[static_cast<std::size_t>(i)], 0), round);
    }
  }
  for (auto& stream : streams) stream->synchronize(kDeadline);
}

TEST_P(Semaphores, AWaitingStreamDoesNotHoldUpOthers) {
  const Buffer words = filled(device(), 64, constant(0), MemoryKind::pinned);
  std::vector<std::unique_ptr<Stream>> waiting;
  for (std::size_t i = 0; i < 4; ++i) {
    waiting.push_back(device().make_stream());
    waiting.back()->wait(semaphore_at(words, i), 1);
  }
  auto working = device().make_stream();
  const Buffer buffer = device().allocate(1 << 20);
  working->fill(buffer.span(), pattern(1));
  working->synchronize(kDeadline);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(waiting[i]->idle());
    working->signal(semaphore_at(words, i), 1);
    waiting[i]->synchronize(kDeadline);
  }
}

TEST_P(Semaphores, RefuseWhatIsNoSemaphore) {
  const Buffer words = zeroed(device(), 64);
  auto stream = device().make_stream();
  EXPECT_THROW(semaphore_at(words, 8), BadArgument);
  EXPECT_THROW(stream->signal(Semaphore{words.slice(4, 8)}, 1), BadArgument);
  EXPECT_THROW(stream->wait(Semaphore{words.slice(0, 4)}, 1), BadArgument);
  auto other = open_machine("host");
  const Buffer foreign = other->device(0).allocate(8);
  EXPECT_THROW(stream->wait(semaphore_at(foreign, 0), 1), BadArgument);
  stream->synchronize(kDeadline);
}

DUET_CONFORMANCE(Semaphores);

}  // namespace
}  // namespace duet::conformance
