// Ranks that come late, errors, and aborts of PairCopies.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "core/error.h"
#include "nccl_shim/protocol/buffers_fixture.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::Buffers;
using testing::on_threads;
using testing::run_until;
using testing::Setting;
using testing::TestRank;
using testing::wrong_of_many;

TEST(PairCopiesErrors, DifferentCallsBreakTheCommunicator) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100u + static_cast<unsigned>(rank.rank), true);
    try {
      rank.copies->enqueue(buffers.call(), rank.stream());
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("make different calls"), std::string::npos);
    }
    rank.wait_for_error();
    EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), PeerFailed);
    rank.end_by_abort();
  });
}

// A staging buffer cannot be allocated: the call has not been made, and may be made again.
TEST(PairCopiesErrors, ACallWithoutMemoryCanBeMadeAgain) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, rank.rank == 1);
    rank.device.before_allocate = [] { throw OutOfMemory("a test"); };
    if (rank.rank == 0) {
      EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), OutOfMemory);
    }
    EXPECT_EQ(rank.copies->error(), "");
    rank.device.before_allocate = nullptr;
    EXPECT_EQ(wrong_of_many(rank, buffers, 3), 0u);
  });
}

// A part of 400 bytes is waited for 40 s.
constexpr double kLongWait = 0.1;

TEST(PairCopiesWaits, RanksThatComeInTimePushTheirOwnParts) {
  on_threads({2, 0, 0, kLongWait}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    EXPECT_EQ(wrong_of_many(rank, buffers, 20), 0u);
    EXPECT_EQ(rank.device.copies, 20 * 2);  // to the peer, and its own part
  });
}

TEST(PairCopiesWaits, WhoComesLateMakesBothCopies) {
  std::atomic<int> returned{0};
  on_threads({2, 0, 0, 1e-6}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    rank.run(rank.stream(), [&] { buffers.fill(7); });
    while (rank.rank == 1 && !returned) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rank.copies->enqueue(buffers.call(), rank.stream());
    returned = true;
    rank.synchronise();
    EXPECT_EQ(buffers.wrong(7), 0u);
    EXPECT_EQ(rank.device.copies, rank.rank == 0 ? 1 : 3);
  });
}

// One thread makes the calls of both ranks, in a group: none waits, and each pushes its part.
void one_thread_for_both(Kind kind, int copies_of_first, int copies_of_second) {
  constexpr int kCalls = 6;
  std::atomic<TestRank*> second{nullptr};
  std::atomic<const Buffers*> its_buffers{nullptr};
  std::atomic<int> made{0};
  on_threads({2, 50, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, kind, 100, true);
    std::atomic<std::size_t> wrong{0};
    if (rank.rank == 1) {
      its_buffers = &buffers;
      second = &rank;
      while (!made) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      while (second == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      TestRank* const ranks[] = {&rank, second};
      const Buffers* const all[] = {&buffers, its_buffers};
      for (int number = 0; number < kCalls; ++number) {
        const int first = number % 2;
        for (const int i : {first, 1 - first}) {
          ranks[i]->run(ranks[i]->stream(), [&, i, number] { all[i]->fill(number); });
          ranks[i]->copies->begin(all[i]->call(), ranks[i]->stream());
        }
        for (const int i : {first, 1 - first}) {
          ranks[i]->copies->finish();
          ranks[i]->run(ranks[i]->stream(), [&, i, number] { wrong += all[i]->wrong(number); });
        }
      }
      for (TestRank* each : ranks) each->synchronise();
      made = true;
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(rank.device.copies, kCalls * (rank.rank == 0 ? copies_of_first : copies_of_second));
  });
}

TEST(PairCopiesGroups, EachRankOfAThreadPushesItsOwnPart) {
  one_thread_for_both(Kind::all_gather, 2, 2);  // to the peer, and its own part
  one_thread_for_both(Kind::all_to_all, 2, 2);
  one_thread_for_both(Kind::broadcast, 2, 0);
}

TEST(PairCopiesGroups, ACallThatWasAbortedIsNotFinished) {
  std::atomic<int> begun{0};  // a rank whose peer has aborted cannot begin
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    rank.copies->begin(buffers.call(), rank.stream());
    for (++begun; begun < 2;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rank.copies->abort(1);
    EXPECT_THROW(rank.copies->finish(), PeerFailed);
    EXPECT_EQ(rank.device.copies, 0);
  });
}

// Rank 0 has begun a call to which rank 1 has come as well: rank 1 still copies into its buffer
// when it aborts itself, and not later.
TEST(PairCopiesGroups, AnAbortWaitsForWhoHasComeToACallThatHadBegun) {
  std::atomic<int> begun{0}, enqueued{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    while (rank.rank == 1 && !begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rank.copies->begin(buffers.call(), rank.stream());
    begun = true;
    if (rank.rank == 1) {
      rank.copies->finish();
      enqueued = true;
      rank.wait_for_error();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      rank.copies->abort(30);
    } else {
      while (!enqueued) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rank.copies->abort(30);
      std::memset(buffers.call().receive, 7, 800);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const auto* const bytes = static_cast<const char*>(buffers.call().receive);
      EXPECT_EQ(std::count(bytes, bytes + 800, 7), 800);
      EXPECT_THROW(rank.copies->finish(), PeerFailed);
    }
    EXPECT_EQ(rank.copies->warning(), "");
    rank.synchronise();
  });
}

// Rank 0 is done with all its calls and aborts, as a program does at its end.
TEST(PairCopiesErrors, ARankThatIsDoneBreaksNoCallOfAnother) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    std::atomic<int> go{0};
    rank.device.before_copy = [&](ShimDevice::Stream stream) {
      if (rank.rank == 0 || stream != rank.stream()) return;  // else of its own part
      rank.run(stream, [&] {
        while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    };
    rank.run(rank.stream(), [&] { buffers.fill(1); });
    rank.copies->enqueue(buffers.call(), rank.stream());
    if (rank.rank == 0) {
      rank.synchronise();
      rank.copies->abort(30);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_EQ(rank.copies->error(), "");
    go = true;
    rank.synchronise();
    EXPECT_EQ(buffers.wrong(1), 0u);
    rank.device.before_copy = nullptr;
    rank.copies->enqueue(buffers.call(), rank.stream());  // to which rank 0 does not come
    rank.wait_for_error();
    rank.end_by_abort();
  });
}

TEST(PairCopiesErrors, NothingIsGivenUpThatStillWaits) {
  std::atomic<int> enqueued{0}, aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    std::atomic<int> go{0};
    run_until(rank, rank.stream(), go);
    rank.copies->enqueue(buffers.call(), rank.stream());
    for (++enqueued; enqueued < 2;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (rank.rank == 0) {
      rank.copies->abort(0.02);
      EXPECT_EQ(rank.copies->warning(), "work of this rank still runs");
      EXPECT_FALSE(rank.copies->end());
    } else {
      rank.wait_for_error();
    }
    go = true;
    rank.copies->abort(30);
    for (++aborted; aborted < 2;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(rank.copies->end());
    rank.synchronise();
  });
}

TEST(PairCopiesWaits, AnAbortEndsIt) {
  on_threads({2, 0, 0, kLongWait}, [](TestRank& rank) {
    if (rank.rank == 1) {
      rank.wait_for_error();
      rank.copies->abort(30);
      return;
    }
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    std::atomic<int> coming{0};
    rank.device.before_look_up = [&coming] { coming = true; };
    std::thread aborting([&] {
      while (!coming) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      rank.copies->abort(30);
    });
    const auto begin = std::chrono::steady_clock::now();
    try {
      rank.copies->enqueue(buffers.call(), rank.stream());
    } catch (const PeerFailed&) {
      // Aborted before the wait.
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    aborting.join();
    EXPECT_EQ(rank.copies->warning(), "");
    rank.synchronise();
  });
}

// A call gets no room in its stream's queue while the stream waits for a rank that does not come.
TEST(PairCopiesErrors, AnAbortEndsACallThatWaitsForItsOwnStream) {
  std::atomic<int> aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    while (rank.rank == 1 && !aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (rank.rank == 1) return;
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    std::atomic<int> full{0}, goes_on{0};
    rank.copies->enqueue(buffers.call(), rank.stream());
    rank.run(rank.stream(), [&] { goes_on = true; });
    rank.device.before_copy = [&](ShimDevice::Stream) {
      full = true;
      for (int i = 0; i < 5000 && !goes_on; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_TRUE(goes_on);
    };
    std::thread caller([&] { rank.copies->enqueue(buffers.call(), rank.stream()); });
    while (!full) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rank.copies->abort(30);
    caller.join();
    EXPECT_EQ(rank.copies->warning(), "");
    rank.synchronise();
    aborted = true;
  });
}

// A broadcast's one copy is the second's in any case.
TEST(PairCopiesWaits, NobodyWaitsWhereOneSendsAlone) {
  std::atomic<int> returned{0};
  on_threads({2, 0, 0, kLongWait}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::broadcast, 100, true);
    while (rank.rank == 1 && !returned) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rank.copies->enqueue(buffers.call(), rank.stream());
    returned = true;
    rank.synchronise();
  });
}

// The first comer aborts while the second is about to come: what it lent is not used any more.
TEST(PairCopiesErrors, ARevokedCallIsNotMade) {
  std::atomic<int> aborted{0}, coming{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    if (rank.rank == 0) {
      rank.run(rank.stream(), [&] { buffers.fill(1); });
      rank.copies->enqueue(buffers.call(), rank.stream());
      while (!coming) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rank.end_by_abort();
      EXPECT_GT(buffers.wrong(1), 0u);
      aborted = true;
      return;
    }
    rank.device.before_look_up = [&] {
      for (coming = true; !aborted;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), PeerFailed);
    rank.copies->abort(30);
  });
}

// Rank 1's stream is late: its lanes and rank 0's still have calls to make when rank 0 aborts.
void abort_in_flight(Kind kind, const Setting& setting) {
  on_threads(setting, [kind](TestRank& rank) {
    rank.device.bytes_may_meet = true;
    const Buffers buffers(rank, kind, 1000, true);
    std::atomic<int> go{rank.rank == 0};
    run_until(rank, rank.stream(), go);
    for (int i = 0; i < 20; ++i) {
      try {
        rank.copies->enqueue(buffers.call(), rank.stream());
      } catch (const PeerFailed&) {
        break;  // the other has aborted already
      }
    }
    if (rank.rank == 1) rank.wait_for_error();
    go = true;
    rank.end_by_abort();
  });
}

TEST(PairCopiesErrors, AbortEndsCallsInFlight) { abort_in_flight(Kind::all_to_all, {2}); }
TEST(PairCopiesErrors, AbortEndsReductionsInFlight) {
  abort_in_flight(Kind::reduce_scatter, {2});
  abort_in_flight(Kind::all_reduce, {2});
}

TEST(PairCopiesErrors, AbortEndsStagedCallsInFlight) {
  abort_in_flight(Kind::all_gather, {2, 0, 0, 0, true});
  abort_in_flight(Kind::all_reduce, {2, 0, 0, 0, true});
}
TEST(PairCopiesErrors, AbortEndsPacketsInFlight) {
  abort_in_flight(Kind::all_gather, {2, 0, 0, 0, false, 8064});
  abort_in_flight(Kind::reduce_scatter, {2, 0, 0, 0, false, 8064});
}
TEST(PairCopiesErrors, AbortEndsChunksInFlight) {
  for (const Kind kind : {Kind::all_gather, Kind::broadcast, Kind::all_reduce}) {
    abort_in_flight(kind, Setting::by_chunks(2, 0, 0));
  }
}

// Rank 1's first pieces wait for no word of rank 0, which has aborted when they come.
TEST(PairCopiesErrors, SlotsAreThereForAPeerThatHasNotAborted) {
  std::atomic<int> enqueued{0}, ended{0}, aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::reduce_scatter, 1000, true);
    if (rank.rank == 0) {
      while (!enqueued) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rank.copies->abort(30);
      EXPECT_EQ(rank.copies->warning(), "");
      EXPECT_FALSE(rank.copies->end());
      ended = true;
      while (!aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(rank.copies->end());
      return;
    }
    run_until(rank, rank.stream(), ended);
    rank.copies->enqueue(buffers.call(), rank.stream());
    enqueued = true;
    while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rank.copies->abort(30);
    aborted = true;
    rank.synchronise();
  });
}

// A call whose communicator is broken does not end, so that nobody takes its buffer for a result.
TEST(PairCopiesErrors, AStreamStopsAtItsGateUntilItsOwnRankAborts) {
  std::atomic<int> enqueued{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    std::atomic<int> passed{0}, go{0};
    run_until(rank, rank.stream(), go);
    rank.copies->enqueue(buffers.call(), rank.stream());
    rank.run(rank.stream(), [&] { passed = true; });
    for (++enqueued; enqueued < 2;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (rank.rank == 0) {
      go = true;
      rank.copies->abort(30);
      rank.synchronise();
      return;
    }
    rank.wait_for_error();
    go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(passed);
    rank.copies->abort(30);
    rank.synchronise();
    EXPECT_TRUE(passed);
  });
}

}  // namespace
}  // namespace duet::nccl_shim
