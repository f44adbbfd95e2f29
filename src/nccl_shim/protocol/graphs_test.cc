// Calls of PairCopies that are captured into graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/packets.h"
#include "fake_gpu/core/streams.h"
#include "nccl_shim/protocol/buffers_fixture.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using fake_gpu::Graph;
using fake_gpu::Stream;
using testing::Buffers;
using testing::on_threads;
using testing::Setting;
using testing::TestRank;
using testing::wrong_of_many;

constexpr std::size_t kLimit = 12032;
constexpr Setting kThree{3, 50, 100, 0, false, kLimit};
constexpr Setting kTwo{2, 0, 0, 0, false, kLimit};

// By packets; and by chunks, of which no call is where it is not captured, as it is larger.
Setting by(const std::string& means) {
  return means == "packets" ? kThree
                            : Setting::by_chunks(3, 50, 100, means == "chunks" ? 12032 : 0);
}
class PairCopiesGraphsBy : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Means, PairCopiesGraphsBy,
                         ::testing::Values("packets", "chunks", "captured_chunks"),
                         [](const auto& tested) { return tested.param; });

// What `body` enqueues on `stream`, and on those that it lets wait for it.
std::shared_ptr<Graph> captured(ShimDevice::Stream stream, const std::function<void()>& body) {
  Stream::of(stream).begin_capture();
  body();
  return Stream::of(stream).end_capture();
}

// Lets `stream` join the capture of `from`, or wait for it.
void let_wait(TestRank& rank, ShimDevice::Stream from, ShimDevice::Stream stream) {
  const std::unique_ptr<StreamEvent> event = rank.device.create_event();
  rank.device.record(*event, from);
  rank.device.wait(stream, *event);
}

// Calls of some kinds whose data are of `*number` when they run.
class Calls {
 public:
  Calls(TestRank& rank, const std::vector<Kind>& kinds, const int* number)
      : rank_(rank), number_(number) {
    for (const Kind kind : kinds)
      buffers_.push_back(std::make_unique<Buffers>(rank, kind, 600, true));
  }
  void enqueue(ShimDevice::Stream stream) {
    for (const auto& each : buffers_) {
      const Buffers* const buffers = each.get();
      rank_.run(stream, [this, buffers] { buffers->fill(*number_); });
      rank_.copies->enqueue(buffers->call(), stream);
      rank_.run(stream, [this, buffers] { wrong_ += buffers->wrong(*number_); });
    }
  }
  std::size_t wrong() const { return wrong_; }

 private:
  TestRank& rank_;
  const int* number_;
  std::vector<std::unique_ptr<Buffers>> buffers_;
  std::atomic<std::size_t> wrong_{0};
};

// Of odd and of even numbers of calls, so that each call of a graph is in either packet buffer.
TEST_P(PairCopiesGraphsBy, EachLaunchIsNewCallsInOrderWithOthers) {
  std::vector<Kind> kinds = {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter,
                             Kind::all_to_all};
  if (GetParam() != "packets") kinds.push_back(Kind::broadcast);
  for (const int ranks : {3, 4}) {
    Setting setting = by(GetParam());
    setting.ranks = ranks;
    on_threads(setting, [&kinds](TestRank& rank) {
      int number = 0;
      Calls all(rank, kinds, &number);
      Calls one(rank, {Kind::all_reduce}, &number), eager(rank, {Kind::all_gather}, &number);
      all.enqueue(rank.stream());
      rank.synchronise();
      const auto graph = captured(rank.stream(), [&] { all.enqueue(rank.stream()); });
      const auto other = captured(rank.stream(), [&] { one.enqueue(rank.stream()); });
      for (number = 1; number <= 10; ++number) {
        rank.pause();
        graph->launch(Stream::of(rank.stream()));
        if (number % 3 != 0) eager.enqueue(rank.stream());
        other->launch(Stream::of(rank.stream()));
        rank.synchronise();
      }
      EXPECT_EQ(all.wrong() + one.wrong() + eager.wrong(), 0u);
    });
  }
}

// Steps in a circle, of which each sends what the step before it has received: a value that is
// handed on by one rank. A step that comes too early hands on what the last round has left.
class Circle {
 public:
  static constexpr std::size_t kSteps = 4;

  explicit Circle(TestRank& rank) : rank_(rank) {
    for (int*& each : received_) {
      each = static_cast<int*>(
          rank.device.allocate(static_cast<std::size_t>(rank.ranks) * kCount * sizeof(int)));
    }
    std::fill_n(next(0), kCount, rank.rank);
  }
  ~Circle() {
    for (int* each : received_) rank_.device.free(each);
  }
  Circle(const Circle&) = delete;
  Circle& operator=(const Circle&) = delete;

  void step(std::size_t number, ShimDevice::Stream stream) {
    int* const to = received_[(number + 1) % kSteps];
    rank_.copies->enqueue({Kind::all_gather, next(number), to, kCount * sizeof(int), 0}, stream);
  }
  bool holds_after(int rounds) {
    const int steps = rounds * static_cast<int>(kSteps);
    return next(0)[kCount - 1] == (rank_.rank + steps) % rank_.ranks;
  }

 private:
  static constexpr std::size_t kCount = 256;
  // What a rank sends is the part of the rank after it.
  int* next(std::size_t number) {
    return received_[number] + static_cast<std::size_t>((rank_.rank + 1) % rank_.ranks) * kCount;
  }

  TestRank& rank_;
  int* received_[kSteps];
};

void delay(TestRank& rank, ShimDevice::Stream stream) {
  rank.run(stream, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
}

TEST_P(PairCopiesGraphsBy, StreamsOfOneCaptureAreInTheOrderOfTheirCalls) {
  on_threads(by(GetParam()), [](TestRank& rank) {
    Circle circle(rank);
    const ShimDevice::Stream first = rank.stream(0), second = rank.stream(1);
    const auto graph = captured(first, [&] {
      let_wait(rank, first, second);
      for (std::size_t i = 0; i < Circle::kSteps; i += 2) {
        delay(rank, first);
        circle.step(i, first);
        circle.step(i + 1, second);
      }
      let_wait(rank, second, first);
    });
    for (int round = 0; round < 5; ++round) graph->launch(Stream::of(first));
    rank.synchronise();
    EXPECT_TRUE(circle.holds_after(5));
  });
}

// The launches, and the calls between them, are on streams that do not wait for each other. Two
// calls in turn are on one stream.
TEST_P(PairCopiesGraphsBy, LaunchesAndCallsOnOtherStreamsAreInTheirOrder) {
  on_threads(by(GetParam()), [](TestRank& rank) {
    Circle circle(rank);
    const auto graph_of = [&](std::size_t step) {
      return captured(rank.stream(0), [&] {
        delay(rank, rank.stream(0));
        circle.step(step, rank.stream(0));
      });
    };
    const auto one = graph_of(0), other = graph_of(2);
    for (int round = 0; round < 5; ++round) {
      one->launch(Stream::of(rank.stream(0)));
      delay(rank, rank.stream(2));
      circle.step(1, rank.stream(2));
      other->launch(Stream::of(rank.stream(1)));
      circle.step(3, rank.stream(2));
    }
    rank.synchronise();
    EXPECT_TRUE(circle.holds_after(5));
  });
}

// The record of a launch is behind all calls of it, not the first alone.
TEST_P(PairCopiesGraphsBy, ACallIsBehindAllCallsOfALaunch) {
  on_threads(by(GetParam()), [](TestRank& rank) {
    Circle circle(rank);
    const auto graph = captured(rank.stream(0), [&] {
      for (std::size_t step = 0; step < 3; ++step) {
        circle.step(step, rank.stream(0));
        delay(rank, rank.stream(0));
      }
    });
    for (int round = 0; round < 5; ++round) {
      graph->launch(Stream::of(rank.stream(0)));
      circle.step(3, rank.stream(1));
    }
    rank.synchronise();
    EXPECT_TRUE(circle.holds_after(5));
  });
}

// What the other library does is a kernel here, in the capture and behind a launch.
TEST(PairCopiesGraphs, OtherWorkIsInOrderWithCalls) {
  on_threads(kTwo, [](TestRank& rank) {
    const ShimDevice::Stream first = rank.stream(0), second = rank.stream(1);
    std::vector<int> send(64), receive(128);
    std::atomic<int> seen{0};
    const auto late = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    const Call call{Kind::all_gather, send.data(), receive.data(), 256};
    rank.copies->order_other_work(second);  // the last, before a capture begins on that stream
    const auto graph = captured(first, [&] {
      let_wait(rank, first, second);
      rank.copies->order_other_work(second);
      rank.run(second, [&] { late(), std::fill(send.begin(), send.end(), 7); });
      rank.copies->enqueue(call, first);
      rank.copies->order_other_work(second);
      rank.run(second, [&] { seen = receive[127]; });
      let_wait(rank, second, first);
    });
    graph->launch(Stream::of(first));
    rank.synchronise();
    EXPECT_EQ(seen, 7);
    rank.run(first, [&] { std::fill(send.begin(), send.end(), 0); });
    graph->launch(Stream::of(first));
    std::atomic<int> behind{0};
    rank.copies->order_other_work(second);
    rank.run(second, [&] { behind = receive[127]; });
    rank.synchronise();
    EXPECT_EQ(behind, 7);
  });
}

TEST(PairCopiesGraphs, OneGraphMayHaveCallsOfTwoCommunicators) {
  const std::string name = testing::unused_name();
  on_threads(kTwo, [&](TestRank& rank) {
    TestRank other(kTwo, name, rank.rank);
    int number = 0;
    Calls own(rank, {Kind::all_reduce}, &number), of_other(other, {Kind::all_reduce}, &number),
        alone(other, {Kind::all_gather}, &number);
    const auto graph = captured(rank.stream(), [&] {
      own.enqueue(rank.stream());
      of_other.enqueue(rank.stream());
      own.enqueue(rank.stream());
    });
    for (number = 1; number <= 10; ++number) {
      graph->launch(Stream::of(rank.stream()));
      alone.enqueue(other.stream());
      rank.synchronise();
      other.synchronise();
    }
    EXPECT_EQ(own.wrong() + of_other.wrong() + alone.wrong(), 0u);
  });
}

// A group's calls are on several streams of one capture.
TEST(PairCopiesGraphs, AGroupsStreamsWaitForEachOther) {
  on_threads(kTwo, [](TestRank& rank) {
    const std::vector<ShimDevice::Stream> streams = {rank.stream(0), rank.stream(1)};
    const Buffers buffers(rank, Kind::all_to_all, 500, true);
    std::atomic<std::size_t> wrong{0};
    int number = 0;
    const auto graph = captured(streams[0], [&] {
      let_wait(rank, streams[0], streams[1]);
      rank.run(streams[1], [&] { buffers.fill(number); });
      rank.copies->fork(streams);
      rank.copies->enqueue(buffers.call(), streams[0]);
      rank.copies->join(streams);
      rank.run(streams[1], [&] { wrong += buffers.wrong(number); });
      let_wait(rank, streams[1], streams[0]);
    });
    for (number = 1; number <= 10; ++number) {
      graph->launch(Stream::of(streams[0]));
      rank.synchronise();
    }
    EXPECT_EQ(wrong, 0u);
  });
}

// Rank 1 launches nothing.
void abort_a_launch(const Setting& setting) {
  on_threads(setting, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_reduce, 600, true);
    const auto graph = captured(rank.stream(), [&] {
      for (int i = 0; i < 3; ++i) rank.copies->enqueue(buffers.call(), rank.stream());
    });
    if (rank.rank == 1) {
      rank.wait_for_error();
      rank.copies->abort(30);
      return;
    }
    std::atomic<bool> passed{false};
    graph->launch(Stream::of(rank.stream()));
    rank.run(rank.stream(), [&] { passed = true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(passed);
    rank.end_by_abort();
    EXPECT_TRUE(passed);
  });
}

TEST(PairCopiesGraphs, AnAbortEndsALaunch) {
  abort_a_launch(kTwo);
  abort_a_launch(Setting::by_chunks(2, 0, 0));
}

TEST(PacketNumbers, NeighboursAreOddAndEvenAndNoneIsZero) {
  EXPECT_EQ(next_packet_number(0), 1u);
  EXPECT_EQ(next_packet_number(0xfffffffeu), 0xffffffffu);
  EXPECT_EQ(next_packet_number(0xffffffffu), 2u);
}

}  // namespace
}  // namespace duet::nccl_shim
