#include "nccl_shim/protocol/pair_copies.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "fake_gpu/core/streams.h"
#include "nccl_shim/protocol/buffers_fixture.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::Buffers;
using testing::on_threads;
using testing::Setting;
using testing::TestRank;
using testing::wrong_of_many;

struct Case {
  Kind kind;
  Setting setting;
};

class PairCopiesTest : public ::testing::TestWithParam<Case> {};

TEST_P(PairCopiesTest, EveryCallHasItsOwnData) {
  const Case& tested = GetParam();
  on_threads(tested.setting, [&](TestRank& rank) {
    const Buffers buffers(rank, tested.kind, 1000, true);
    EXPECT_EQ(wrong_of_many(rank, buffers, 60), 0u);
  });
  EXPECT_FALSE(testing::has_shared_memory());
}

TEST_P(PairCopiesTest, BuffersThatCannotBeLentAreStaged) {
  const Case& tested = GetParam();
  on_threads(tested.setting, [&](TestRank& rank) {
    const Buffers buffers(rank, tested.kind, 300, rank.rank == 0);
    EXPECT_EQ(wrong_of_many(rank, buffers, 20), 0u);
  });
}

TEST_P(PairCopiesTest, BuffersOfOneRankMayBeNewAtAnyCall) {
  const Case& tested = GetParam();
  on_threads(tested.setting, [&](TestRank& rank) {
    const Buffers kept(rank, tested.kind, 200, true);
    for (int number = 0; number < 12; ++number) {
      const Buffers fresh(rank, tested.kind, 200, true);
      EXPECT_EQ(wrong_of_many(rank, rank.rank == 0 ? fresh : kept, 4), 0u);
    }
    EXPECT_LE(rank.copies->lent(), tested.setting.staged ? 1u : 5u);  // its slots alone
  });
}

constexpr std::size_t kPackets = 12032;  // all calls of three ranks

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Kind kind : {Kind::all_gather, Kind::all_to_all, Kind::broadcast, Kind::reduce_scatter,
                          Kind::all_reduce}) {
    all.push_back({kind, {2, 0, 0}});
    all.push_back({kind, {2, 100, 300}});
    all.push_back({kind, {3, 100, 300}});
    all.push_back({kind, {4, 50, 0}});
    all.push_back({kind, {2, 50, 200, 5e-8}});  // 40 to 200 us
    all.push_back({kind, {3, 0, 100, 5e-8}});
    all.push_back({kind, {3, 50, 100, 0, true}});
    all.push_back({kind, {3, 100, 300, 0, false, kPackets}});
    for (const int ranks : {2, 3, 4}) all.push_back({kind, Setting::by_chunks(ranks, 100, 300)});
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const char* kinds[] = {"all_gather", "all_to_all", "broadcast", "reduce_scatter", "all_reduce"};
  const Setting& setting = info.param.setting;
  return std::string(kinds[static_cast<int>(info.param.kind)]) + "_" +
         std::to_string(setting.ranks) + "_delays_" + std::to_string(setting.device_delay) + "_" +
         std::to_string(setting.cpu_delay) + (setting.wait_per_byte > 0 ? "_waits" : "") +
         (setting.staged ? "_staged" : "") + (setting.most_by_packets > 0 ? "_packets" : "") +
         (setting.most_by_chunks ? "_chunks" : "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, PairCopiesTest, ::testing::ValuesIn(cases()), name_of);

// 5000 bytes are five pieces, the last one shorter. Kinds that follow each other use the same
// lanes.
void kinds_in_turn(bool staged, std::size_t most_by_packets = 0) {
  on_threads({3, 50, 100, 0, staged, most_by_packets}, [](TestRank& rank) {
    const Buffers reduced(rank, Kind::reduce_scatter, 1250, false),
        gathered(rank, Kind::all_gather, 300, true), both(rank, Kind::all_reduce, 3750, true);
    const Buffers* const kinds[] = {&reduced, &gathered, &both};
    std::atomic<std::size_t> wrong{0};
    for (int number = 0; number < 30; ++number) {
      const Buffers& buffers = *kinds[number * number % 7 % 3];
      rank.run(rank.stream(number % 2), [&, number] { buffers.fill(number); });
      rank.copies->enqueue(buffers.call(), rank.stream(number % 2));
      rank.run(rank.stream(number % 2), [&, number] { wrong += buffers.wrong(number); });
      rank.synchronise();
    }
    EXPECT_EQ(wrong, 0u);
  });
}

TEST(PairCopiesReductions, KindsInTurn) {
  kinds_in_turn(false);
  kinds_in_turn(true);
  kinds_in_turn(false, 4096);  // the all_gathers
  kinds_in_turn(true, 15104);  // all
}

// In bf16 1 + 2^-8 + 2^-8 is 1 if each sum is rounded; in fp32 2^24 + 1 - 2^24 is 0 in the order of
// ranks and 1 in others.
TEST(PairCopiesReductions, InTheOrderOfRanksAndRoundedOnce) {
  on_threads({3, 50, 0}, [](TestRank& rank) {
    const std::uint16_t halves[] = {0x3f80, 0x3b80, 0x3b80};  // 1, 2^-8, 2^-8 as bf16
    std::vector<std::uint16_t> short_parts(3 * 600, halves[rank.rank]), rounded(600);
    rank.copies->enqueue({Kind::reduce_scatter, short_parts.data(), rounded.data(), 1200, 0,
                          DType::bf16, Reduction::sum},
                         rank.stream());
    const float values[] = {16777216, 1, -16777216};
    std::vector<float> parts(3 * 300, values[rank.rank]), sum(300);
    rank.copies->enqueue(
        {Kind::reduce_scatter, parts.data(), sum.data(), 1200, 0, DType::fp32, Reduction::sum},
        rank.stream());
    rank.synchronise();
    EXPECT_EQ(rounded, std::vector<std::uint16_t>(600, 0x3f81));
    EXPECT_EQ(sum, std::vector<float>(300, 0));
  });
}

TEST(PairCopiesReductions, OperationsInPlace) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    const struct {
      Reduction reduction;
      int result;
    } cases[] = {
        {Reduction::sum, -5}, {Reduction::max, 2}, {Reduction::min, -7}, {Reduction::avg, -2}};
    for (const auto& each : cases) {
      std::vector<int> parts(2 * 300, rank.rank == 0 ? 2 : -7);
      int* own = parts.data() + 300 * rank.rank;
      rank.copies->enqueue(
          {Kind::reduce_scatter, parts.data(), own, 1200, 0, DType::int32, each.reduction},
          rank.stream());
      rank.synchronise();
      EXPECT_EQ(std::vector<int>(own, own + 300), std::vector<int>(300, each.result));
    }
  });
}

// Counts of which the parts of the last ranks are shorter, or empty, or which are several pieces.
void all_reduce_of_any_count(bool staged, std::size_t most_by_packets = 0) {
  on_threads({4, 50, 100, 0, staged, most_by_packets}, [](TestRank& rank) {
    for (const std::size_t count : {1u, 7u, 65u, 1001u, 5003u}) {
      auto* all = static_cast<std::uint16_t*>(rank.device.allocate(2 * count));
      for (int number = 0; number < 4; ++number) {
        // Of bf16: 1, 2, 4, or 8 of one rank and 0 of the others.
        const auto value = static_cast<std::uint16_t>(0x3f80 + 0x80 * (number % 4));
        const auto own = rank.rank == number ? value : std::uint16_t{0};
        rank.run(rank.stream(), [=] { std::fill_n(all, count, own); });
        rank.copies->enqueue(
            {Kind::all_reduce, all, all, 2 * count, 0, DType::bf16, Reduction::sum}, rank.stream());
        rank.run(rank.stream(), [=] {
          EXPECT_EQ(std::count(all, all + count, value), static_cast<std::ptrdiff_t>(count));
        });
      }
      rank.synchronise();
      rank.device.free(all);
    }
  });
}

TEST(PairCopiesInPlace, AllReduceOfAnyCount) {
  all_reduce_of_any_count(false);
  all_reduce_of_any_count(true);
  all_reduce_of_any_count(false, 4096);  // of which the last is more
}

void all_gather_in_place(bool staged, std::size_t most_by_packets = 0) {
  on_threads({3, 50, 100, 0, staged, most_by_packets}, [](TestRank& rank) {
    auto* all = static_cast<int*>(rank.device.allocate(3 * 4096));
    int* own = all + 1024 * rank.rank;
    for (int number = 0; number < 10; ++number) {
      rank.run(rank.stream(), [=, &rank] { std::fill_n(own, 1024, rank.rank + 10 * number); });
      rank.copies->enqueue({Kind::all_gather, own, all, 4096, 0}, rank.stream());
      rank.run(rank.stream(), [=] {
        for (int i = 0; i < 3072; ++i) ASSERT_EQ(all[i], i / 1024 + 10 * number);
      });
    }
    rank.synchronise();
    rank.device.free(all);
  });
}

TEST(PairCopiesInPlace, AllGather) {
  all_gather_in_place(false);
  all_gather_in_place(true);
  all_gather_in_place(false, 12288);
}

// Ranks are as far apart as packets let them be.
TEST(PairCopiesPackets, CallsFollowEachOther) {
  on_threads({3, 0, 0, 0, false, kPackets}, [](TestRank& rank) {
    std::vector<std::unique_ptr<Buffers>> calls;
    for (int number = 0; number < 200; ++number) {
      calls.push_back(std::make_unique<Buffers>(rank, Kind::all_gather, 1000, false));
      calls.back()->fill(number);
    }
    for (const auto& each : calls) rank.copies->enqueue(each->call(), rank.stream());
    rank.synchronise();
    for (int number = 0; number < 200; ++number) {
      EXPECT_EQ(calls[static_cast<std::size_t>(number)]->wrong(number), 0u);
    }
  });
}

using OnStream = std::function<void(ShimDevice::Stream)>;

// Every call sends what the call before it received, which was on another stream: `on_stream` gives
// the stream of a step to what it is called with. In every third step a kernel in the place of the
// other library's call hands it on.
void values_go_round(const std::function<void(TestRank&, int step, const OnStream&)>& on_stream) {
  on_threads({3, 50, 100}, [&](TestRank& rank) {
    constexpr int kSteps = 46;  // the last one is a call
    constexpr std::size_t kCount = 256;
    const auto ranks = static_cast<std::size_t>(rank.ranks);
    std::vector<int*> received;
    for (int step = 0; step <= kSteps; ++step) {
      received.push_back(static_cast<int*>(rank.device.allocate(ranks * kCount * sizeof(int))));
    }
    // What a rank sends next stands in the part of the rank after it.
    const std::size_t next = static_cast<std::size_t>((rank.rank + 1) % rank.ranks) * kCount;
    std::fill_n(received[0] + next, kCount, rank.rank);
    for (int step = 0; step < kSteps; ++step) {
      int* from = received[static_cast<std::size_t>(step)];
      int* to = received[static_cast<std::size_t>(step) + 1];
      on_stream(rank, step, [&, step, from, to](ShimDevice::Stream stream) {
        if (step % 3 == 2) {
          rank.copies->order_other_work(stream);
          rank.run(stream, [=] {
            usleep(1000);
            std::copy_n(from, ranks * kCount, to);
          });
          rank.copies->end_other_work(stream);
          return;
        }
        rank.copies->enqueue({Kind::all_gather, from + next, to, kCount * sizeof(int), 0}, stream);
      });
    }
    EXPECT_TRUE(rank.copies->drain());
    rank.synchronise();
    // Two calls of three hand a value on by one rank.
    const int calls = kSteps - kSteps / 3;
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(received[kSteps][next + i], (rank.rank + calls) % rank.ranks);
    }
    for (int* each : received) rank.device.free(each);
  });
}

TEST(PairCopiesOrder, CallsOnSeveralStreamsAreInTheirOrder) {
  values_go_round(
      [](TestRank& rank, int step, const OnStream& make) { make(rank.stream((step + 1) % 4)); });
}

// Under one handle, two threads in turn have each a stream of their own.
void values_go_round_on_streams_of_threads(bool known) {
  constexpr int kRanks = 3;
  fake_gpu::Stream threads[kRanks][2] = {{{0, 1}, {0, 1}}, {{0, 1}, {0, 1}}, {{0, 1}, {0, 1}}};
  values_go_round([&](TestRank& rank, int step, const OnStream& make) {
    rank.device.knows_streams = known;
    fake_gpu::Stream& thread = threads[rank.rank][step % 2];
    thread.enqueue([&make] { make(testing::kStreamOfThread); });
    thread.synchronise();
  });
}

TEST(PairCopiesOrder, CallsOnTheStreamsOfThreadsAreInTheirOrder) {
  values_go_round_on_streams_of_threads(true);
}

TEST(PairCopiesOrder, AlsoIfTheDriverHasNoNumbersOfStreams) {
  values_go_round_on_streams_of_threads(false);
}

// The first stream's number is that of its handle no longer.
TEST(PairCopiesOrder, AStreamIsBehindTheCallsOfAnotherThatHadItsHandle) {
  on_threads({2, 0, 0, 0, false, 1024}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    rank.copies->enqueue(buffers.call(), rank.stream());
    rank.copies->enqueue(buffers.call(), rank.stream());
    EXPECT_EQ(rank.device.waits, 0);
    rank.device.first_stream_id = 1000;
    rank.copies->enqueue(buffers.call(), rank.stream());
    EXPECT_EQ(rank.device.waits, 1);
    rank.synchronise();
  });
}

// What the other library does on it is no call's predecessor, also behind the capture.
TEST(PairCopiesOrder, ACapturedStreamIsLeftAlone) {
  on_threads({2, 0, 0, 0, false, 128}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    EXPECT_EQ(wrong_of_many(rank, buffers, 1), 0u);
    fake_gpu::Stream& captured = fake_gpu::Stream::of(rank.stream(1));
    captured.begin_capture();
    rank.copies->order_other_work(rank.stream(1));
    rank.copies->enqueue(buffers.call(), rank.stream(0));
    EXPECT_EQ(captured.end_capture()->size(), 0u);
    std::atomic<bool> done{false};
    rank.run(rank.stream(1), [&] {
      while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    std::thread late([&] {
      for (int i = 0; i < 5000 && !done; ++i) usleep(1000);
      EXPECT_TRUE(done.exchange(true));
    });
    rank.copies->enqueue(buffers.call(), rank.stream(0));
    rank.device.synchronise(rank.stream(0));
    done = true;
    late.join();
    rank.synchronise();
  });
}

// No event can be recorded any more behind what that stream had before the capture.
TEST(PairCopiesOrder, ACallIsBehindTheLastOneWhereOtherWorkBetweenIsOnAStreamCapturedSince) {
  on_threads({2, 0, 0, 0, false, 1024}, [](TestRank& rank) {
    const Buffers one(rank, Kind::all_gather, 100, true), other(rank, Kind::all_gather, 100, true);
    std::atomic<bool> begun{false};
    rank.run(rank.stream(0), [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      begun = true;
    });
    rank.copies->enqueue(one.call(), rank.stream(0));
    rank.copies->order_other_work(rank.stream(0));
    fake_gpu::Stream& captured = fake_gpu::Stream::of(rank.stream(0));
    captured.begin_capture();
    rank.copies->enqueue(other.call(), rank.stream(1));
    rank.run(rank.stream(1), [&] { EXPECT_TRUE(begun); });
    captured.end_capture();
    rank.synchronise();
  });
}

TEST(PairCopiesOrder, ACallIsBehindTheLastOfOtherWorkOnSeveralStreams) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    std::atomic<bool> worked{false};
    for (const int stream : {0, 1}) rank.copies->order_other_work(rank.stream(stream));
    rank.run(rank.stream(1), [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      worked = true;
    });
    rank.copies->enqueue(buffers.call(), rank.stream(2));
    rank.run(rank.stream(2), [&] { EXPECT_TRUE(worked); });
    rank.synchronise();
  });
}

// What a group's call sends is filled on a stream of the group on which it does not call, and
// checked there.
TEST(PairCopiesOrder, AGroupsStreamsWaitForEachOther) {
  on_threads({2, 100, 0}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_to_all, 500, true);
    std::atomic<std::size_t> wrong{0};
    const std::vector<ShimDevice::Stream> streams = {rank.stream(0), rank.stream(1)};
    for (int number = 0; number < 20; ++number) {
      rank.run(streams[1], [&buffers, number] { buffers.fill(number); });
      rank.copies->fork(streams);
      rank.copies->enqueue(buffers.call(), streams[0]);
      rank.copies->join(streams);
      rank.run(streams[1], [&, number] { wrong += buffers.wrong(number); });
    }
    rank.synchronise();
    EXPECT_EQ(wrong, 0u);
  });
}

TEST(PairCopiesAhead, ARankMayBeManyCallsAhead) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 4, true);
    if (rank.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(wrong_of_many(rank, buffers, 3000), 0u);
  });
}

// Each call has buffers of its own, which only its record tells.
TEST(PairCopiesAhead, NoRecordIsWrittenOverThatIsStillToBeRead) {
  constexpr int kCalls = static_cast<int>(kCallsAhead) * 2 + 10;
  std::atomic<int> made{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    auto* const values = static_cast<int*>(rank.device.allocate(kCalls * sizeof(int)));
    std::fill_n(values, kCalls, 0);
    for (int number = 0; rank.rank == 0 && number < kCalls; ++number) values[number] = number + 1;
    if (rank.rank == 1) {
      while (made < static_cast<int>(kCallsAhead)) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ASSERT_EQ(made, static_cast<int>(kCallsAhead));
    }
    for (int number = 0; number < kCalls; ++number) {
      int* const value = values + number;
      rank.copies->enqueue({Kind::broadcast, value, value, sizeof(int), 0}, rank.stream());
      if (rank.rank == 0) ++made;
    }
    rank.synchronise();
    for (int number = 0; number < kCalls; ++number) ASSERT_EQ(values[number], number + 1);
    rank.device.free(values);
  });
}

}  // namespace
}  // namespace duet::nccl_shim
