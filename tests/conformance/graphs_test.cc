// Graphs: the captured calls of a stream and of streams forked from it, launched repeatedly.
#include "device/collective_kernel.h"
#include "device/graph.h"
#include "devices.h"

namespace duet::conformance {
namespace {

constexpr std::size_t kBytes = 100'000;

class Graphs : public DeviceTest {
 protected:
  // The captured graph. If the device does not capture these calls: nullptr, and the test is
  // skipped.
  std::unique_ptr<Graph> captured(Stream& stream, const std::function<void()>& enqueue) {
    try {
      return capture(stream, enqueue);
    } catch (const Unavailable& error) {
      skip(error.what());
      return nullptr;
    }
  }
  static void skip(const char* reason) { GTEST_SKIP() << reason; }
};

TEST_P(Graphs, RunNothingUntilTheyAreLaunched) {
  const Buffer a = filled(device(), kBytes, constant(1)), b = filled(device(), kBytes, constant(2));
  auto stream = device().make_stream();
  const auto graph = captured(*stream, [&] {
    stream->copy({b.span(), a.span(), Executor::kernel, {}});
    stream->fill(a.span(), constant(7));
  });
  if (graph == nullptr) return;
  stream->synchronize(kDeadline);
  EXPECT_FALSE(device().check(a.span(), constant(1)).has_value());
  EXPECT_FALSE(device().check(b.span(), constant(2)).has_value());
  for (std::uint64_t round = 0; round < 3; ++round) {
    stream->fill(a.span(), pattern(round));
    graph->launch(*stream);
    stream->synchronize(kDeadline);
    EXPECT_FALSE(device().check(b.span(), pattern(round)).has_value()) << round;
    EXPECT_FALSE(device().check(a.span(), constant(7)).has_value()) << round;
  }
}

// Two graphs, a sender's and a receiver's, synchronise by semaphores. The sender's graph forks to a
// second stream and joins it.
TEST_P(Graphs, ForkJoinAndMeet) {
  constexpr int kRounds = 20;
  const Buffer words = zeroed(device(), 64), there = zeroed(peer(), 64);
  const Buffer source = device().allocate(kBytes), landing = peer().allocate(2 * kBytes);
  const Buffer log = peer().allocate(2 * kBytes * kRounds);
  auto sender = device().make_stream(), lane = device().make_stream();
  auto receiver = peer().make_stream();
  const auto fork = device().make_event(EventUse::order), join = device().make_event();
  const Handshake ask{{}, {semaphore_at(words, 0)}}, tell{{semaphore_at(there, 1)}, {}};
  const auto sent = captured(*sender, [&] {
    sender->handshake(ask);
    sender->record(*fork);
    lane->wait(*fork);
    lane->copy({landing.slice(0, kBytes), source.span(), Executor::dma, {}});
    sender->copy({landing.slice(kBytes, kBytes), source.span(), Executor::dma, {}});
    lane->record(*join);
    sender->wait(*join);
    sender->handshake(tell);
  });
  if (sent == nullptr) return;
  const auto received = captured(*receiver, [&] {
    receiver->handshake({{semaphore_at(words, 0)}, {semaphore_at(there, 1)}});
  });
  ASSERT_NE(received, nullptr);
  for (std::size_t round = 0; round < kRounds; ++round) {
    sender->fill(source.span(), pattern(round));
    sent->launch(*sender);
    received->launch(*receiver);
    receiver->copy({log.slice(round * 2 * kBytes, 2 * kBytes), landing.span(), Executor::dma, {}});
  }
  sender->synchronize(kDeadline);
  receiver->synchronize(kDeadline);
  for (std::size_t part = 0; part < 2 * kRounds; ++part) {
    const auto difference = peer().check(log.slice(part * kBytes, kBytes), pattern(part / 2));
    ASSERT_FALSE(difference.has_value()) << part;
  }
}

TEST_P(Graphs, HoldPeerKernels) {
  if (!two_devices()) GTEST_SKIP() << "needs two devices";
  constexpr std::size_t kCalls = 2;
  Device* const ends[2] = {&device(), &peer()};
  std::vector<Buffer> words, sources, targets;
  for (Device* end : ends) {
    words.push_back(zeroed(*end, 8));
    sources.push_back(end->allocate(kBytes));
    targets.push_back(filled(*end, kBytes, constant(0)));
  }
  std::vector<std::unique_ptr<PreparedKernel>> kernels;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Graph>> graphs;
  for (std::size_t i = 0; i < 2; ++i) {
    PeerKernel kernel;
    kernel.items.push_back({{sources[i].span()}, {targets[1 - i].span()}});
    kernel.blocks = 1;
    kernel.arrivals = {words[1 - i].span()};
    kernel.awaits = {words[i].span()};
    kernels.push_back(ends[i]->prepare(kernel));
    streams.push_back(ends[i]->make_stream());
    graphs.push_back(captured(*streams[i], [&] {
      for (std::size_t call = 0; call < kCalls; ++call) streams[i]->launch(*kernels[i]);
    }));
    if (graphs.back() == nullptr) return;
  }
  for (std::uint64_t round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < 2; ++i) streams[i]->fill(sources[i].span(), pattern(round + i));
    for (std::size_t i = 0; i < 2; ++i) graphs[i]->launch(*streams[i]);
    // The same kernels again, outside of the graphs.
    for (std::size_t i = 0; i < 2; ++i) streams[i]->launch(*kernels[i]);
    for (auto& stream : streams) stream->synchronize(kDeadline);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto difference = ends[i]->check(targets[i].span(), pattern(round + 1 - i));
      ASSERT_FALSE(difference.has_value()) << round;
    }
  }
}

TEST_P(Graphs, AbandonedLeaveTheStreamsAsBefore) {
  const Buffer buffer = filled(device(), kBytes, constant(1));
  auto stream = device().make_stream(), lane = device().make_stream();
  const auto fork = device().make_event(EventUse::order);
  const auto broken = [&] {
    stream->record(*fork);
    lane->wait(*fork);
    lane->fill(buffer.span(), constant(2));
    throw Mismatch("on purpose");
  };
  EXPECT_THROW(capture(*stream, broken), Mismatch);
  for (Stream* each : {stream.get(), lane.get()}) {
    EXPECT_TRUE(each->idle());
    each->fill(buffer.span(), constant(3));
    each->synchronize(kDeadline);
  }
  EXPECT_FALSE(device().check(buffer.span(), constant(3)).has_value());
}

TEST_P(Graphs, RefuseAForkThatDoesNotJoin) {
  const Buffer buffer = filled(device(), kBytes, constant(1));
  auto stream = device().make_stream(), lane = device().make_stream();
  const auto fork = device().make_event(EventUse::order);
  const auto unjoined = [&] {
    stream->record(*fork);
    lane->wait(*fork);
    lane->fill(buffer.span(), constant(2));
  };
  EXPECT_THROW(capture(*stream, unjoined), Error);
  lane->fill(buffer.span(), constant(3));
  lane->synchronize(kDeadline);
  stream->synchronize(kDeadline);
  EXPECT_FALSE(device().check(buffer.span(), constant(3)).has_value());
}

TEST_P(Graphs, OutliveTheStreamsTheyWereCapturedOn) {
  const Buffer buffer = filled(device(), kBytes, constant(1));
  auto first = device().make_stream();
  auto graph = captured(*first, [&] { first->fill(buffer.span(), constant(5)); });
  if (graph == nullptr) return;
  first.reset();
  const auto second = device().make_stream();
  graph->launch(*second);
  second->synchronize(kDeadline);
  EXPECT_FALSE(device().check(buffer.span(), constant(5)).has_value());
  if (!two_devices()) return;
  EXPECT_THROW(graph->launch(*peer().make_stream()), BadArgument);
}

DUET_CONFORMANCE(Graphs);

}  // namespace
}  // namespace duet::conformance
