// Events: order between streams, times, deadlines.
#include <limits>

#include "devices.h"

namespace duet::conformance {
namespace {

class Events : public DeviceTest {};

TEST_P(Events, NeverRecordedAreDone) {
  auto event = device().make_event();
  EXPECT_TRUE(event->done());
  event->synchronize(kDeadline);
  auto stream = device().make_stream();
  stream->wait(*event);
  stream->synchronize(kDeadline);
}

TEST_P(Events, TimeWorkBetweenThem) {
  const Buffer buffer = device().allocate(8 << 20);
  auto stream = device().make_stream();
  auto start = device().make_event(), middle = device().make_event(), end = device().make_event();
  stream->record(*start);
  stream->fill(buffer.span(), pattern(1));
  stream->record(*middle);
  stream->fill(buffer.span(), pattern(2));
  stream->fill(buffer.span(), pattern(3));
  stream->record(*end);
  end->synchronize(kDeadline);
  EXPECT_TRUE(start->done());
  EXPECT_GT(middle->seconds_since(*start), 0);
  EXPECT_GT(end->seconds_since(*start), middle->seconds_since(*start));
  EXPECT_LT(end->seconds_since(*start), kDeadline);
}

TEST_P(Events, OrderStreamsOfOneDeviceAndOfTwo) {
  for (Device* second : {&device(), &peer()}) {
    constexpr std::size_t kBytes = 4 << 20;
    const Buffer source = device().allocate(kBytes);
    const Buffer destination = second->allocate(kBytes);
    auto producer = device().make_stream();
    auto consumer = second->make_stream();
    auto ready = device().make_event();
    for (std::uint64_t round = 1; round <= 5; ++round) {
      producer->fill(source.span(), pattern(round));
      producer->record(*ready);
      consumer->wait(*ready);
      consumer->copy({destination.span(), source.span(), Executor::dma, {}});
      consumer->synchronize(kDeadline);
      EXPECT_FALSE(second->check(destination.span(), pattern(round)).has_value());
    }
  }
}

TEST_P(Events, WaitIsForTheLastRecordAtTheCall) {
  const Buffer gate = filled(device(), 8, constant(0), MemoryKind::pinned);
  auto stream = device().make_stream(), other = device().make_stream();
  auto event = device().make_event();
  stream->record(*event);
  other->wait(*event);
  stream->wait(semaphore_at(gate, 0), 1);
  stream->record(*event);  // the wait of `other` is not for this record
  other->synchronize(kDeadline);
  EXPECT_FALSE(event->done());
  device().signal(semaphore_at(gate, 0), 1);
  event->synchronize(kDeadline);
}

// The second record is reached first.
TEST_P(Events, WaitIsForItsRecordWhateverStreamReachesAnotherFirst) {
  const Buffer gate = filled(device(), 8, constant(0), MemoryKind::pinned);
  auto busy = device().make_stream(), idle = device().make_stream(), other = device().make_stream();
  auto event = device().make_event();
  busy->wait(semaphore_at(gate, 0), 1);
  busy->record(*event);
  other->wait(*event);
  idle->record(*event);
  event->synchronize(kDeadline);
  idle->synchronize(kDeadline);
  EXPECT_TRUE(event->done());
  EXPECT_FALSE(other->idle());
  device().signal(semaphore_at(gate, 0), 1);
  other->synchronize(kDeadline);
  EXPECT_TRUE(event->done());
}

TEST_P(Events, HaveDeadlinesOfAnyLength) {
  const Buffer gate = filled(device(), 8, constant(0), MemoryKind::pinned);
  auto stream = device().make_stream();
  auto event = device().make_event();
  for (const double seconds : {1e10, std::numeric_limits<double>::infinity()}) {
    stream->fill(gate.span(), constant(1));
    stream->record(*event);
    event->synchronize(seconds);
    stream->fill(gate.span(), constant(2));
    stream->synchronize(seconds);
    device().finish(seconds);
  }
}

TEST_P(Events, GiveUpAtTheDeadline) {
  const Buffer gate = filled(device(), 8, constant(0), MemoryKind::pinned);
  auto stream = device().make_stream();
  auto event = device().make_event();
  stream->wait(semaphore_at(gate, 0), 1);
  stream->record(*event);
  EXPECT_FALSE(event->done());
  // A simulated machine detects that the event can never be done, and throws another Error at once.
  EXPECT_THROW(event->synchronize(0.05), Error);
  device().signal(semaphore_at(gate, 0), 1);
  event->synchronize(kDeadline);
  EXPECT_TRUE(event->done());
}

TEST_P(Events, RefuseWhatIsNotTheirs) {
  auto other = open_machine("host");
  auto foreign = other->device(0).make_event();
  auto stream = device().make_stream();
  EXPECT_THROW(stream->record(*foreign), BadArgument);
  EXPECT_THROW(stream->wait(*foreign), BadArgument);
  auto never = device().make_event(), once = device().make_event();
  stream->record(*once);
  stream->synchronize(kDeadline);
  EXPECT_THROW(once->seconds_since(*never), BadArgument);
}

DUET_CONFORMANCE(Events);

}  // namespace
}  // namespace duet::conformance
