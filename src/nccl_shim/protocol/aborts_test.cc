// Aborts of PairCopies amid calls: what they wait for, and that all ends.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "core/error.h"
#include "nccl_shim/protocol/buffers_fixture.h"
#include "nccl_shim/protocol/messages_fixture.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::Buffers;
using testing::on_threads;
using testing::run_until;
using testing::Side;
using testing::TestRank;
using testing::wait_until;

// A call that fails before its stream waits for the calls before it, on another stream: an abort
// waits for those all the same.
void a_call_fails_beside_one_that_waits(bool message) {
  std::atomic<int> enqueued{0}, ended{0}, go[2] = {0, 0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    run_until(rank, rank.stream(0), go[rank.rank]);
    // The other's copies are in lanes, which an abort looks at by themselves.
    wait_until(enqueued, rank.rank);
    rank.copies->enqueue(buffers.call(), rank.stream(0));
    ++enqueued;
    wait_until(enqueued, 2);
    if (rank.rank == 1) {
      rank.copies->break_with("a failure");
    } else {
      rank.wait_for_error();
      const auto fail = [&] {
        message ? rank.copies->enqueue_message({Message::What::send, 1, buffers.call().receive, 4},
                                               rank.stream(1))
                : rank.copies->enqueue(buffers.call(), rank.stream(1));
      };
      EXPECT_THROW(fail(), PeerFailed);
      rank.device.synchronise(rank.stream(1));
      EXPECT_FALSE(rank.copies->is_done());
      rank.copies->abort(0.02);
      EXPECT_EQ(rank.copies->warning(), "work of this rank still runs");
      EXPECT_FALSE(rank.copies->end());
    }
    go[rank.rank] = 1;
    rank.copies->abort(30);
    ++ended;
    wait_until(ended, 2);
    EXPECT_TRUE(rank.copies->end());
    rank.synchronise();
  });
}

TEST(PairCopiesAborts, WaitForCallsBesideOneThatFails) {
  a_call_fails_beside_one_that_waits(false);
  a_call_fails_beside_one_that_waits(true);
}

// A lane's copies of a call that fails at a later one are behind no event of the call's stream.
TEST(PairCopiesAborts, WaitForWhatACallThatFailsHasGivenItsLanes) {
  std::atomic<int> come{0}, go{0};
  on_threads({3, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    if (rank.rank > 0) {
      run_until(rank, rank.stream(), go);
      rank.copies->enqueue(buffers.call(), rank.stream());
      ++come;
      rank.wait_for_error();
    } else {
      wait_until(come, 2);
      rank.device.before_copy = [&](ShimDevice::Stream) {
        if (rank.device.copies == 2) throw Error("a test");
      };
      EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), Error);
      rank.synchronise();
      EXPECT_FALSE(rank.copies->is_done());
      EXPECT_FALSE(rank.copies->drain());
      go = 1;
    }
    rank.end_by_abort();
  });
}

// The first copy fails: only one lane has something to wait for, that of pushes or that of pulls.
void wait_for_one_lane(Kind kind) {
  std::atomic<int> come{0}, go{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, kind, 100, true);
    const Call call = buffers.call(/*root=*/1);
    if (rank.rank == 1) {
      run_until(rank, rank.stream(), go);
      rank.copies->enqueue(call, rank.stream());
      come = 1;
      rank.wait_for_error();
    } else {
      wait_until(come, 1);
      rank.device.before_copy = [](ShimDevice::Stream) { throw Error("a test"); };
      EXPECT_THROW(rank.copies->enqueue(call, rank.stream()), Error);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other lane is done
      EXPECT_FALSE(rank.copies->is_done());
      go = 1;
    }
    rank.end_by_abort();
  });
}

TEST(PairCopiesAborts, WaitForOneLaneAsWell) {
  wait_for_one_lane(Kind::all_gather);
  wait_for_one_lane(Kind::broadcast);
}

// An error that is not Duet's breaks no communicator: the abort itself looks at the lanes.
TEST(PairCopiesAborts, WaitForWhatACallHasGivenItsLanesThatEndsWithoutMemory) {
  std::atomic<int> come{0}, go{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    if (rank.rank == 1) {
      rank.copies->enqueue(buffers.call(), rank.stream());
      come = 1;
      rank.wait_for_error();
    } else {
      wait_until(come, 1);
      run_until(rank, rank.stream(), go);
      rank.device.before_copy = [](ShimDevice::Stream) { throw std::bad_alloc(); };
      EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), std::bad_alloc);
      rank.copies->abort(0.02);
      EXPECT_EQ(rank.copies->warning(), "work of this rank still runs");
      go = 1;
    }
    rank.copies->abort(30);
    rank.synchronise();
  });
}

// A driver may record no event while a stream waits for a rank that does not come.
TEST(PairCopiesAborts, EndWaitsBeforeTheyRecordEvents) {
  std::atomic<int> aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) return wait_until(aborted, 1);
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    std::atomic<int> goes_on{0};
    rank.copies->enqueue(buffers.call(), rank.stream());
    rank.run(rank.stream(), [&] { goes_on = 1; });
    rank.device.before_record = [&] {
      for (int i = 0; i < 5000 && goes_on == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_EQ(goes_on, 1);
    };
    rank.end_by_abort();
    aborted = 1;
  });
}

// The copy of its own part fails, behind one into a staging buffer.
TEST(PairCopiesAborts, WaitForWhatACallThatFailsHasGivenItsStream) {
  std::atomic<int> go{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) {
      rank.wait_for_error();
      rank.copies->abort(30);
      return;
    }
    const Buffers buffers(rank, Kind::all_gather, 100, false);
    run_until(rank, rank.stream(), go);
    rank.device.before_copy = [&](ShimDevice::Stream) {
      if (rank.device.copies == 2) throw Error("a test");
    };
    EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), Error);
    EXPECT_FALSE(rank.copies->is_done());
    go = 1;
    rank.end_by_abort();
  });
}

// An abort has given up waiting for a kernel of the program; rank 1's closes rank 0's gate again.
TEST(PairCopiesAborts, WhatOneGaveUpWaitingForEndsAllTheSame) {
  std::atomic<int> given_up{0}, aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) {
      wait_until(given_up, 1);
      rank.wait_for_error();  // otherwise it just leaves, and closes no gate
      rank.copies->abort(30);
      aborted = 1;
      return;
    }
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    run_until(rank, rank.stream(), aborted);
    rank.copies->enqueue(buffers.call(), rank.stream());
    rank.copies->abort(0.02);
    EXPECT_EQ(rank.copies->warning(), "work of this rank still runs");
    EXPECT_FALSE(rank.copies->end());
    given_up = 1;
    rank.synchronise();
    for (int i = 0; i < 1000 && !rank.copies->end();) ++i;
    EXPECT_TRUE(rank.copies->end());
  });
}

// Rank 1 has come to a reduction: rank 0's abort ends behind what it still writes into a slot.
TEST(PairCopiesAborts, WaitForPiecesOfWhoHasCome) {
  std::atomic<int> enqueued{0}, go{0}, given_up{0}, aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    rank.device.bytes_may_meet = true;
    const Buffers buffers(rank, Kind::reduce_scatter, 100, true);
    if (rank.rank == 1) run_until(rank, rank.stream(), go);
    rank.copies->enqueue(buffers.call(), rank.stream());
    ++enqueued;
    wait_until(enqueued, 2);
    if (rank.rank == 1) {
      wait_until(given_up, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_EQ(aborted, 0);
      go = 1;
      wait_until(aborted, 1);
    }
    given_up = 1;
    rank.copies->abort(30);
    EXPECT_EQ(rank.copies->warning(), "");
    if (rank.rank == 0) aborted = 1;
    rank.synchronise();
  });
}

// A call that fails behind its turn is expected of the peer once: it is taken back as a whole.
TEST(PairCopiesAborts, DoNotWaitForCopiesOfACallThatFails) {
  std::atomic<int> aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) return wait_until(aborted, 1);
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    rank.device.before_copy = [](ShimDevice::Stream) { throw Error("a test"); };
    EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), Error);
    rank.copies->abort(5);
    EXPECT_EQ(rank.copies->warning(), "");
    aborted = 1;
    rank.synchronise();
  });
}

TEST(PairCopiesAborts, DoNotWaitForPiecesOfWhoHasNotCome) {
  std::atomic<int> aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) return wait_until(aborted, 1);
    const Buffers buffers(rank, Kind::reduce_scatter, 100, true);
    rank.copies->enqueue(buffers.call(), rank.stream());
    rank.copies->abort(5);
    EXPECT_EQ(rank.copies->warning(), "");
    aborted = 1;
    rank.synchronise();
  });
}

// Not only when the guard has looked, which it does ten times a second.
TEST(PairCopiesAborts, ACallBehindAnotherRanksFailureFailsAtOnce) {
  std::atomic<int> step{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 100, true);
    if (rank.rank == 1) {
      rank.copies->break_with("a failure");
      ++step;
      wait_until(step, 2);
    } else {
      wait_until(step, 1);
      EXPECT_THROW(rank.copies->enqueue(buffers.call(), rank.stream()), PeerFailed);
      ++step;
    }
    rank.copies->abort(30);
    rank.synchronise();
  });
}

void make_calls(TestRank& rank, const Buffers& buffers, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) rank.copies->enqueue(buffers.call(), rank.stream());
}

// A rank that is as far ahead as it may be waits on the CPU: until it aborts itself in another
// thread, or another rank fails.
void ends_a_wait_for_room(bool by_own_abort) {
  std::atomic<int> waits{0}, over{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::all_gather, 4, true);
    if (rank.rank == 1) {
      wait_until(waits, 1);
      if (!by_own_abort) rank.copies->break_with("a failure");
      wait_until(over, 1);
    } else {
      make_calls(rank, buffers, kCallsAhead);
      std::thread aborting([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        waits = 1;
        if (by_own_abort) rank.copies->abort(30);
      });
      EXPECT_THROW(make_calls(rank, buffers, 1), PeerFailed);
      aborting.join();
      over = 1;
    }
    rank.end_by_abort();
  });
}

TEST(PairCopiesAborts, EndAWaitForRoom) {
  ends_a_wait_for_room(true);
  ends_a_wait_for_room(false);
}

// Rank 1 waits for no word of rank 2, with which it has nothing to do in rank 0's broadcasts.
TEST(PairCopiesAborts, WhoWaitsForRoomLearnsThatAPeerHasLeft) {
  std::atomic<int> ahead{0}, over{0};
  on_threads({3, 0, 0}, [&](TestRank& rank) {
    const Buffers buffers(rank, Kind::broadcast, 4, true);
    if (rank.rank == 2) {
      wait_until(ahead, 2);
      rank.copies->abort(30);
      return;
    }
    make_calls(rank, buffers, kCallsAhead);
    ++ahead;
    if (rank.rank == 1) {
      EXPECT_THROW(make_calls(rank, buffers, 1), PeerFailed);
      over = 1;
    }
    wait_until(over, 1);
    rank.end_by_abort();
  });
}

// Rank 0, which also waits for rank 2, learns of its end while it waits for room at rank 1.
TEST(PairCopiesAborts, WhoWaitsForRoomLearnsWhatTheGuardHasFound) {
  std::atomic<int> ahead{0}, over{0};
  on_threads({3, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 2) {
      wait_until(ahead, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } else if (rank.rank == 1) {
      wait_until(over, 1);
    } else {
      const Buffers buffers(rank, Kind::broadcast, 4, true);
      make_calls(rank, buffers, kCallsAhead);
      ahead = 1;
      EXPECT_THROW(make_calls(rank, buffers, 1), PeerFailed);
      over = 1;
      rank.copies->abort(30);
      rank.synchronise();
      return;
    }
    rank.copies->abort(30);
  });
}

// Calls of all kinds, and messages around a ring, on streams that each rank chooses, until one rank
// aborts. To the last call all come, so that the others learn of it.
void abort_amid_calls(TestRank& rank, unsigned seed) {
  constexpr unsigned kCalls = 40;
  std::minstd_rand common(seed), own(seed * 8 + static_cast<unsigned>(rank.rank));
  const auto who = static_cast<int>(common() % static_cast<unsigned>(rank.ranks));
  const unsigned when = common() % kCalls;
  rank.device.bytes_may_meet = true;
  std::vector<std::unique_ptr<Buffers>> buffers;
  for (const Kind kind : {Kind::all_gather, Kind::all_to_all, Kind::broadcast, Kind::reduce_scatter,
                          Kind::all_reduce}) {
    for (const std::size_t count : {100u, 1000u}) {
      buffers.push_back(std::make_unique<Buffers>(rank, kind, count, true));
    }
  }
  const std::size_t kinds = buffers.size() + (rank.copies->can_send() ? 2 : 0);
  const Side sent(rank, Message::What::send, (rank.rank + 1) % rank.ranks),
      received(rank, Message::What::receive, (rank.rank + rank.ranks - 1) % rank.ranks);
  try {
    for (unsigned call = 0; call < kCalls && (rank.rank != who || call != when); ++call) {
      const std::size_t which = call + 1 == kCalls ? 0 : common() % kinds;
      const ShimDevice::Stream stream = rank.stream(static_cast<int>(own() % 3));
      rank.pause();
      if (which < buffers.size()) {
        rank.copies->enqueue(buffers[which]->call(), stream);
      } else {
        testing::exchange_all(rank, {sent.message(), received.message()}, stream);
      }
    }
    if (rank.rank != who) rank.wait_for_error();
  } catch (const PeerFailed&) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(own() % 10));
  rank.end_by_abort();
}

TEST(PairCopiesAborts, AtAnyTime) {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    on_threads(
        {2 + static_cast<int>(seed % 3), 100, 100, 0, seed % 4 == 1, seed % 4 == 2 ? 8064u : 0u},
        [seed](TestRank& rank) { abort_amid_calls(rank, seed); });
  }
}

}  // namespace
}  // namespace duet::nccl_shim
