// Ranks in processes of their own: what is lent is mapped, and processes end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "fake_gpu/core/streams.h"
#include "nccl_shim/protocol/buffers_fixture.h"
#include "nccl_shim/protocol/peer_process.h"
#include "nccl_shim/protocol/process_resources_fixture.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::end_of;
using testing::expect_ends;
using testing::mappings;
using testing::on_processes;
using testing::open_files;
using testing::run_until;
using testing::Setting;
using testing::shared_number;
using testing::start_processes;
using testing::TestRank;
using testing::wait_until;

// One all-gather of a byte value a rank, whose buffers begin at `send` and `receive`.
void gather(TestRank& rank, unsigned char* send, unsigned char* receive, std::size_t bytes,
            unsigned char value) {
  std::memset(send, value + rank.rank, bytes);
  rank.copies->enqueue({Kind::all_gather, send, receive, bytes, 0}, rank.stream());
  rank.synchronise();
  for (int from = 0; from < rank.ranks; ++from) {
    const unsigned char* part = receive + static_cast<std::size_t>(from) * bytes;
    ASSERT_EQ(part[0], static_cast<unsigned char>(value + from));
    ASSERT_EQ(std::memcmp(part, part + 1, bytes - 1), 0);
  }
}

unsigned char* allocate(TestRank& rank, std::size_t bytes) {
  return static_cast<unsigned char*>(rank.device.allocate(bytes));
}

// Send and receive buffers that all ranks have gathered from once, so that all are mapped.
std::pair<unsigned char*, unsigned char*> used_buffers(TestRank& rank, std::size_t bytes) {
  unsigned char* const send = allocate(rank, bytes);
  unsigned char* const receive = allocate(rank, static_cast<std::size_t>(rank.ranks) * bytes);
  gather(rank, send, receive, bytes, 1);
  return {send, receive};
}

TEST(PairCopiesProcesses, TenThousandCallsWithBuffersThatComeAndGoLeaveNothing) {
  on_processes({2, 0, 0}, [](TestRank& rank) {
    std::size_t files = 0, maps = 0;
    unsigned char* send = allocate(rank, 512);
    unsigned char* receive = allocate(rank, 1024);
    for (int number = 0; number < 10000; ++number) {
      if (number % (2 + rank.rank) == 0) {  // at other calls on the other rank
        rank.device.free(send);
        send = allocate(rank, 512);
      }
      if (number % 7 == 0) {
        rank.device.free(receive);
        receive = allocate(rank, 1024);
      }
      gather(rank, send, receive, 512, static_cast<unsigned char>(number));
      if (::testing::Test::HasFailure()) return;
      if (number == 100) files = open_files(), maps = mappings();
    }
    EXPECT_LE(open_files(), files + 2);
    EXPECT_LE(mappings(), maps + 8);
  });
  EXPECT_FALSE(testing::has_shared_memory());
}

// The rest goes through staging buffers, which are lent as well.
TEST(PairCopiesProcesses, ManyMoreBuffersThanARankLends) {
  on_processes({2, 0, 0}, [](TestRank& rank) {
    constexpr int kPairs = static_cast<int>(kRows) / 2 + 20;
    for (int number = 0; number < kPairs; ++number) {
      const int last = number - (kPairs - 10);
      const std::size_t bytes = last < 0 ? 512 : 512u * static_cast<unsigned>(last + 2);
      gather(rank, allocate(rank, bytes), allocate(rank, 2 * bytes), bytes,
             static_cast<unsigned char>(number));
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_LE(rank.copies->lent(), kRows);
  });
}

// Rank 0 waits in a call while rank 1 frees two buffers and takes a new one where one of them was:
// CUDA maps no memory of a process at a base that is still mapped.
TEST(PairCopiesProcesses, WhatAPeerHasFreedIsUnmappedBeforeNewMemoryIsMapped) {
  std::atomic<int>* const waits = shared_number();
  on_processes({2, 0, 0, 0.1}, [&](TestRank& rank) {
    rank.device.maps_a_base_once = true;
    unsigned char* const send = allocate(rank, 4096);
    unsigned char* const receive[] = {allocate(rank, 8192), allocate(rank, 8192)};
    for (int number = 0; number < 2; ++number) {
      gather(rank, send, receive[number], 4096, static_cast<unsigned char>(number));
    }
    if (rank.rank == 0) {
      rank.device.before_look_up = [&] { *waits = 1; };
      gather(rank, send, receive[0], 4096, 3);
      return;
    }
    wait_until(*waits, 1);
    for (unsigned char* each : receive) rank.device.free(each);
    unsigned char* const again = allocate(rank, 8192);
    EXPECT_TRUE(again == receive[0] || again == receive[1]);
    gather(rank, send, again, 4096, 3);
  });
  munmap(waits, sizeof(int));
}

// A call of a group that is not finished, and that the peer does not come to.
TEST(PairCopiesProcesses, AnAbortTakesBackACallThatHasBegun) {
  std::atomic<int>* const aborted = shared_number();
  on_processes({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) {
      wait_until(*aborted, 1);
      return;
    }
    const Call call{Kind::all_gather, allocate(rank, 4096), allocate(rank, 8192), 4096};
    rank.copies->begin(call, rank.stream());
    for (int i = 0; i < 2; ++i) rank.copies->abort(1);  // as ncclCommRevoke and ncclCommAbort do
    EXPECT_EQ(rank.copies->warning(), "");
    *aborted = 1;
    EXPECT_THROW(rank.copies->finish(), PeerFailed);
  });
  munmap(aborted, sizeof(int));
}

TEST(PairCopiesProcesses, DelaysAndThreeRanks) {
  on_processes({3, 100, 300}, [](TestRank& rank) {
    unsigned char* send = allocate(rank, 4096);
    unsigned char* receive = allocate(rank, 3 * 4096);
    for (int number = 0; number < 30; ++number) {
      rank.pause();
      gather(rank, send, receive, 4096, static_cast<unsigned char>(number));
    }
  });
}

// Rank 1 enqueues a call and ends in it; rank 0 gets an error, and ends by abort().
void expect_error_after(const std::function<void(TestRank&, unsigned char*, unsigned char*)>& end,
                        Kind kind = Kind::all_gather) {
  expect_ends({2, 0, 0}, {0, SIGKILL}, [&](TestRank& rank) {
    const auto [send, receive] = used_buffers(rank, 4096);
    const Call call{kind, send, receive, reduces(kind) ? 2048u : 4096u};
    rank.copies->enqueue(call, rank.stream());  // a peer's memory is mapped at the first use
    rank.synchronise();
    if (rank.rank == 1) end(rank, send, receive);
    bool passed = false;
    rank.copies->enqueue(call, rank.stream());
    rank.run(rank.stream(), [&] { passed = true; });
    rank.wait_for_error();
    EXPECT_FALSE(passed);
    rank.end_by_abort();
  });
  EXPECT_FALSE(testing::has_shared_memory());
}

TEST(PairCopiesProcesses, AKilledRankIsAnErrorForWhoWaitsForIt) {
  expect_error_after([](TestRank&, unsigned char*, unsigned char*) { raise(SIGKILL); });
}

TEST(PairCopiesProcesses, AlsoIfItHadComeToTheCall) {
  expect_error_after([](TestRank& rank, unsigned char* send, unsigned char* receive) {
    rank.run(rank.stream(), [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
    rank.copies->enqueue({Kind::all_gather, send, receive, 4096, 0}, rank.stream());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    raise(SIGKILL);
  });
}

// 2048 bytes are two pieces: its stream stops behind the first copies, or before them.
TEST(PairCopiesProcesses, AKilledRankIsAnErrorInAReduction) {
  for (const Kind kind : {Kind::reduce_scatter, Kind::all_reduce}) {
    expect_error_after([](TestRank&, unsigned char*, unsigned char*) { raise(SIGKILL); }, kind);
    expect_error_after(
        [kind](TestRank& rank, unsigned char* send, unsigned char* receive) {
          rank.run(rank.stream(), [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
          rank.copies->enqueue({kind, send, receive, 2048}, rank.stream());
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          raise(SIGKILL);
        },
        kind);
  }
}

// Rank 1 does `last` and is killed before rank 0 does `body`; nobody has mapped a buffer yet.
void expect_end_after_death(const std::function<void(TestRank&, const Call&)>& last,
                            const std::function<void(TestRank&, const Call&)>& body, Kind kind,
                            const Setting& setting = {2}) {
  auto* const killed = static_cast<std::atomic<int>*>(
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  expect_ends(setting, {0, SIGKILL}, [&](TestRank& rank) {
    const Call call{kind, allocate(rank, 4096), allocate(rank, 2 * 4096), 2048};
    if (rank.rank == 1) {
      last(rank, call);
      *killed = getpid();
      raise(SIGKILL);
    }
    while (*killed == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const PeerProcess process(*killed); !process.has_ended();) usleep(1000);
    body(rank, call);
    rank.end_by_abort();
  });
  EXPECT_FALSE(testing::has_shared_memory());
  munmap(killed, sizeof(int));
}

TEST(PairCopiesProcesses, ARankThatDiesBeforeItsFirstCallIsAnAsynchronousError) {
  const auto expect_error = [](TestRank& rank, const Call& call) {
    const auto passed = std::make_shared<std::atomic<bool>>(false);
    rank.copies->enqueue(call, rank.stream());
    rank.run(rank.stream(), [passed] { *passed = true; });
    rank.wait_for_error();
    EXPECT_FALSE(*passed);
  };
  const auto nothing = [](TestRank&, const Call&) {};
  for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce}) {
    expect_end_after_death(nothing, expect_error, kind);
  }
  expect_end_after_death(nothing, expect_error, Kind::all_gather, {2, 0, 0, 0, true});
  expect_end_after_death(nothing, expect_error, Kind::all_gather, {2, 0, 0, 0, false, 4096});
  for (const Kind kind : {Kind::all_gather, Kind::broadcast, Kind::all_reduce}) {
    expect_end_after_death(nothing, expect_error, kind, Setting::by_chunks(2, 0, 0));
  }
  // A stream that waits for one word alone: that it has received, that its buffer has been read,
  // or that a piece has come.
  for (const int root : {0, 1}) {
    const auto broadcast = [&](TestRank& rank, Call call) {
      call.root = root;
      expect_error(rank, call);
    };
    expect_end_after_death(nothing, broadcast, Kind::broadcast);
  }
  const auto reduce_one_piece = [&](TestRank& rank, Call call) {
    call.bytes = 128;
    expect_error(rank, call);
  };
  expect_end_after_death(nothing, reduce_one_piece, Kind::reduce_scatter);
}

// Rank 1 sends all its pieces, and is killed before it has freed a slot.
TEST(PairCopiesProcesses, AKilledRankIsAnErrorForWhoWaitsForItsSlots) {
  std::atomic<int>* const come = shared_number();
  expect_ends({2, 0, 0}, {0, SIGKILL}, [&](TestRank& rank) {
    const Call call{Kind::reduce_scatter, allocate(rank, 8192), allocate(rank, 4096), 4096};
    if (rank.rank == 1) {
      ShimDevice::Stream lane = nullptr;
      rank.device.before_copy = [&](ShimDevice::Stream stream) {
        if (std::exchange(lane, stream) != nullptr) return;
        rank.run(rank.stream(), [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
      };
      wait_until(*come, 1);
      rank.copies->enqueue(call, rank.stream());
      rank.device.synchronise(lane);
      raise(SIGKILL);
    }
    rank.copies->enqueue(call, rank.stream());
    *come = 1;
    rank.wait_for_error();
    rank.end_by_abort();
  });
  munmap(come, sizeof(int));
}

TEST(PairCopiesProcesses, ACallToWhichADeadRankHadComeFirstFails) {
  expect_end_after_death(
      [](TestRank& rank, const Call& call) { rank.copies->enqueue(call, rank.stream()); },
      [](TestRank& rank, const Call& call) {
        EXPECT_THROW(rank.copies->enqueue(call, rank.stream()), PeerFailed);
        EXPECT_EQ(rank.copies->error(), "the process of rank 1 has ended");
      },
      Kind::all_gather);
}

// It still had to copy from memory of rank 1, on which the next call waits.
TEST(PairCopiesProcesses, ACallBeforeOneThatWaitsForAKilledRankDoesNotEndEither) {
  std::atomic<int>* const step = shared_number();
  expect_ends({2, 0, 0}, {0, SIGKILL}, [&](TestRank& rank) {
    const Call call{Kind::all_gather, allocate(rank, 4096), allocate(rank, 2 * 4096), 4096};
    if (rank.rank == 1) {
      rank.copies->enqueue(call, rank.stream());
      *step = 1;
      wait_until(*step, 2);
      raise(SIGKILL);
    }
    std::atomic<int> go{0};
    std::atomic<bool> passed{false};
    run_until(rank, rank.stream(), go);
    wait_until(*step, 1);
    rank.copies->enqueue(call, rank.stream());
    rank.run(rank.stream(), [&] { passed = true; });
    rank.copies->enqueue(call, rank.stream());
    *step = 2;
    rank.wait_for_error();
    go = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(passed);
    rank.end_by_abort();
  });
  munmap(step, sizeof(int));
}

void kill_before_a_launch(const Setting& setting) {
  expect_ends(setting, {0, SIGKILL}, [](TestRank& rank) {
    unsigned char* const send = allocate(rank, 4096);
    unsigned char* const receive = allocate(rank, 2 * 4096);
    fake_gpu::Stream& stream = fake_gpu::Stream::of(rank.stream());
    const Call call{Kind::all_gather, send, receive, 4096};
    // Rank 0 waits for it in the first call, which says nothing about the last.
    if (rank.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stream.begin_capture();
    for (int i = 0; i < 3; ++i) rank.copies->enqueue(call, rank.stream());
    const auto graph = stream.end_capture();
    for (int launch = 0; launch < 3; ++launch) graph->launch(stream);
    gather(rank, send, receive, 4096, 1);
    if (rank.rank == 1) raise(SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(rank.copies->error(), "");  // nothing waits for it
    std::atomic<bool> passed{false};
    graph->launch(stream);
    rank.run(rank.stream(), [&] { passed = true; });
    rank.wait_for_error();
    EXPECT_EQ(rank.copies->error(), "the process of rank 1 has ended");
    EXPECT_FALSE(passed);
    EXPECT_THROW(rank.copies->enqueue(call, rank.stream()), PeerFailed);
    rank.end_by_abort();
  });
}

TEST(PairCopiesProcesses, AKilledRankIsAnErrorForAGraphThatWaitsForIt) {
  kill_before_a_launch({2, 0, 0, 0, false, 8192});
  kill_before_a_launch(Setting::by_chunks(2, 0, 0));
}

TEST(PairCopiesProcesses, MakeCallsByChunks) {
  on_processes(Setting::by_chunks(3, 50, 100), [](TestRank& rank) {
    for (const Kind kind : {Kind::all_gather, Kind::all_to_all, Kind::broadcast,
                            Kind::reduce_scatter, Kind::all_reduce}) {
      const testing::Buffers buffers(rank, kind, 3000, true);
      EXPECT_EQ(testing::wrong_of_many(rank, buffers, 10), 0u);
    }
  });
}

TEST(PairCopiesProcesses, TenThousandReductionsLeaveNothing) {
  on_processes({2, 0, 0}, [](TestRank& rank) {
    std::size_t files = 0, maps = 0;
    std::vector<int> send(64), receive(32);
    for (int number = 0; number < 10000; ++number) {
      std::fill(send.begin(), send.end(), number + rank.rank);
      rank.copies->enqueue(
          {Kind::reduce_scatter, send.data(), receive.data(), 128, 0, DType::int32}, rank.stream());
      rank.synchronise();
      ASSERT_EQ(receive, std::vector<int>(32, 2 * number + 1));
      if (number == 100) files = open_files(), maps = mappings();
    }
    EXPECT_LE(open_files(), files + 2);
    EXPECT_LE(mappings(), maps + 8);
  });
}

// Nobody waits for it: it has ended as a rank may that is done.
TEST(PairCopiesProcesses, ARankThatEndsBetweenCallsIsNoError) {
  on_processes({2, 0, 0}, [](TestRank& rank) {
    used_buffers(rank, 4096);
    if (rank.rank == 1) _exit(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(rank.copies->error(), "");
  });
}

// Of rank 0's device, a thread that was held back says once more that it waits, though rank 1 has
// made its call before it ended.
TEST(PairCopiesProcesses, AWordThatIsSetOnceMoreIsNoError) {
  on_processes({2, 0, 0, 0, false, 8192}, [](TestRank& rank) {
    used_buffers(rank, 4096);
    if (rank.rank == 1) _exit(0);
    Word& awaited = rank.device.exchange_words->awaited[1];
    awaited = 1;
    for (int waited = 0; awaited != 0 && waited < 10000; ++waited) usleep(1000);
    EXPECT_EQ(awaited, 0u) << "nobody asks whether rank 1 is waited for";
    awaited = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(rank.copies->error(), "");
  });
}

// Rank 1 ends behind its packets, and rank 2 makes its call later.
TEST(PairCopiesProcesses, ARankThatEndsIsNoErrorWhereAnotherIsWaitedFor) {
  on_processes({3, 0, 0, 0, false, 8192}, [](TestRank& rank) {
    const auto [send, receive] = used_buffers(rank, 2048);
    if (rank.rank == 1) {
      std::memset(send, 3, 2048);
      Word& waits_for_rank_2 = rank.device.exchange_words->awaited[2];
      waits_for_rank_2 = 0;
      rank.copies->enqueue({Kind::all_gather, send, receive, 2048, 0}, rank.stream());
      // It has pushed its packets before it waits.
      for (int waited = 0; waits_for_rank_2 == 0 && waited < 10000; ++waited) usleep(1000);
      _exit(0);
    }
    if (rank.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    gather(rank, send, receive, 2048, 2);
    EXPECT_EQ(rank.copies->error(), "");
  });
}

void kill_where_another_is_waited_for(const Setting& setting) {
  expect_ends(setting, {0, 0, SIGKILL}, [](TestRank& rank) {
    const auto [send, receive] = used_buffers(rank, 2048);
    if (rank.rank == 2) raise(SIGKILL);
    if (rank.rank == 0) {
      rank.copies->enqueue({Kind::all_gather, send, receive, 2048, 0}, rank.stream());
    }
    rank.wait_for_error();
    if (rank.rank == 0) {
      EXPECT_EQ(rank.copies->error(), "the process of rank 2 has ended");
    }
    rank.copies->abort(30);
    rank.synchronise();
  });
}

TEST(PairCopiesProcesses, AKilledRankIsAnErrorWhereAnotherIsWaitedForToo) {
  kill_where_another_is_waited_for({3, 0, 0, 0, false, 8192});
  kill_where_another_is_waited_for(Setting::by_chunks(3, 0, 0));
}

TEST(PairCopiesProcesses, AStoppedRankIsWaitedFor) {
  const std::vector<int> processes = start_processes({2, 0, 0}, [](TestRank& rank) {
    const auto [send, receive] = used_buffers(rank, 4096);
    if (rank.rank == 1) raise(SIGSTOP);
    gather(rank, send, receive, 4096, 2);
    EXPECT_EQ(rank.copies->error(), "");
  });
  int status = 0;
  waitpid(processes[1], &status, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(waitpid(processes[0], &status, WNOHANG), 0);
  kill(processes[1], SIGCONT);
  for (const int each : processes) EXPECT_EQ(end_of(each), 0);
}

}  // namespace
}  // namespace duet::nccl_shim
