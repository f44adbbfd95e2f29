// How messages of PairCopies end: errors, aborts, ranks that are gone.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "nccl_shim/protocol/messages_fixture.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::exchange_all;
using testing::on_threads;
using testing::run_until;
using testing::send;
using testing::Side;
using testing::Sides;
using testing::TestRank;
using What = Message::What;

TEST(MessagesErrors, BothSidesSizesAreEqual) {
  std::atomic<int> failures{0};
  std::atomic<int> sent{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Side side(rank, rank.rank == 0 ? What::send : What::receive, 1 - rank.rank, true,
                    rank.rank == 0 ? 8 : 16);
    while (rank.rank == 1 && !sent) std::this_thread::yield();
    try {
      send(rank, side);
    } catch (const BadArgument& error) {
      ++failures;
      EXPECT_STREQ(
          error.what(),
          "rank 0 sends 32 bytes and rank 1 receives 64: expected the same count and type");
    }
    sent = true;
    rank.wait_for_error();
    rank.copies->abort(10);
    EXPECT_EQ(rank.copies->warning(), "");
  });
  EXPECT_EQ(failures, 1);
}

TEST(MessagesErrors, WhatARankSendsItselfItReceives) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    if (rank.rank == 1) return;
    const Side sent(rank, What::send, 0);
    EXPECT_THROW(exchange_all(rank, {sent.message()}), BadArgument);
    rank.copies->abort(10);
  });
}

// A rank that cannot get memory for staging has told nobody of its message: it may try again.
TEST(MessagesErrors, NoMemoryForStagingIsNoEnd) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    const Side side(rank, rank.rank == 0 ? What::send : What::receive, 1 - rank.rank,
                    rank.rank != 0);
    side.fill(3);
    if (rank.rank == 0) {
      rank.device.before_allocate = [] { throw OutOfMemory("no memory"); };
      EXPECT_THROW(send(rank, side), OutOfMemory);
      rank.device.before_allocate = nullptr;
    }
    send(rank, side);
    rank.synchronise();
    EXPECT_EQ(side.wrong(3), 0u);
  });
}

// A message that its peer has not come to is taken back, and the peer is told.
void aborted_before_the_peer_comes(What of_first) {
  std::atomic<int> aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const bool is_first = rank.rank == 0;
    const What other = of_first == What::send ? What::receive : What::send;
    const Side side(rank, is_first ? of_first : other, 1 - rank.rank);
    if (is_first) {
      send(rank, side);
      const double begin = steady_now();
      rank.copies->abort(10);
      EXPECT_LT(steady_now() - begin, 5);
      EXPECT_EQ(rank.copies->warning(), "");
      aborted = true;
      rank.synchronise();
    } else {
      while (!aborted) std::this_thread::yield();
      EXPECT_THROW(send(rank, side), PeerFailed);
      rank.copies->abort(10);
    }
  });
}

TEST(MessagesEnd, AbortedBeforeThePeerComes) {
  aborted_before_the_peer_comes(What::send);
  aborted_before_the_peer_comes(What::receive);
}

TEST(MessagesEnd, AGroupThatWasAbortedIsNotStarted) {
  std::atomic<int> begun{0};  // a rank whose peer has aborted cannot begin
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const int peer = 1 - rank.rank;
    const Side sent(rank, What::send, peer), received(rank, What::receive, peer);
    rank.copies->begin_messages({sent.message(), received.message()}, rank.stream());
    ++begun;
    testing::wait_until(begun, 2);
    rank.copies->abort(10);
    EXPECT_THROW(rank.copies->start_messages(), PeerFailed);
    EXPECT_EQ(rank.device.copies, 0);
  });
}

// The first to come aborts while the other one is about to.
void revoked_while_the_peer_comes(What of_first) {
  std::atomic<int> step{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const What other = of_first == What::send ? What::receive : What::send;
    const Side side(rank, rank.rank == 0 ? of_first : other, 1 - rank.rank);
    if (rank.rank == 0) {
      send(rank, side);
      testing::wait_until(step, 1);
      rank.copies->abort(10);
      EXPECT_EQ(rank.copies->warning(), "");
      step = 2;
      rank.synchronise();
      return;
    }
    rank.device.before_look_up = [&] {
      step = 1;
      testing::wait_until(step, 2);
    };
    EXPECT_THROW(send(rank, side), PeerFailed);
    EXPECT_EQ(rank.device.copies, 0);
    rank.copies->abort(10);
  });
}

TEST(MessagesEnd, ARevokedMessageIsNotMade) {
  revoked_while_the_peer_comes(What::send);
  revoked_while_the_peer_comes(What::receive);
}

// Rank 1's stream is not ready for the copy that rank 0 is to make: rank 0's abort ends its wait.
void aborted_before_the_peer_is_ready(What of_first) {
  std::atomic<int> come{0}, go{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    rank.device.bytes_may_meet = true;
    const What other = of_first == What::send ? What::receive : What::send;
    const Side side(rank, rank.rank == 1 ? of_first : other, 1 - rank.rank);
    if (rank.rank == 1) {
      run_until(rank, rank.stream(), go);
      send(rank, side);
      come = 1;
      rank.wait_for_error();
      testing::wait_until(go, 1);
    } else {
      testing::wait_until(come, 1);
      send(rank, side);
      rank.copies->abort(5);
      EXPECT_EQ(rank.copies->warning(), "");
      go = 1;
    }
    rank.copies->abort(10);
    rank.synchronise();
  });
}

TEST(MessagesEnd, AbortedBeforeThePeerIsReady) {
  aborted_before_the_peer_is_ready(What::receive);
  aborted_before_the_peer_is_ready(What::send);
}

// A lane waits for the peer, though the copy behind the wait has failed.
TEST(MessagesEnd, AnAbortWaitsForTheLaneOfAMessageThatFails) {
  std::atomic<int> come{0}, go{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Side side(rank, rank.rank == 0 ? What::send : What::receive, 1 - rank.rank);
    if (rank.rank == 1) {
      run_until(rank, rank.stream(), go);
      send(rank, side);
      come = 1;
      rank.wait_for_error();
    } else {
      testing::wait_until(come, 1);
      rank.device.before_copy = [](ShimDevice::Stream) { throw Error("a test"); };
      EXPECT_THROW(send(rank, side), Error);
      rank.synchronise();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // all other lanes are done
      EXPECT_FALSE(rank.copies->is_done());
      go = 1;
    }
    rank.end_by_abort();
  });
}

// Where the peer has come, an abort waits for its copy: nothing is written behind the abort.
TEST(MessagesEnd, AnAbortWaitsForThePeersCopy) {
  std::atomic<int> aborted{0}, pushing{0};
  std::atomic<int> come{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Side side(rank, rank.rank == 0 ? What::receive : What::send, 1 - rank.rank);
    side.fill(1);
    if (rank.rank == 0) {
      send(rank, side);
      come = 1;
      while (!pushing) std::this_thread::yield();
      rank.copies->abort(10);
      aborted = true;
      EXPECT_EQ(rank.copies->warning(), "");
      EXPECT_EQ(side.wrong(1), 0u);
      rank.synchronise();
    } else {
      rank.device.before_copy = [&](ShimDevice::Stream lane) {
        rank.run(lane, [&] {
          pushing = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          EXPECT_FALSE(aborted);
        });
      };
      while (come < 1) std::this_thread::yield();
      send(rank, side);
      while (!aborted) std::this_thread::yield();
      rank.copies->abort(10);
    }
  });
}

// Where a group is between its start and its finish, an abort waits for what it has given the
// stream: words that peers read, and copies.
TEST(MessagesEnd, AnAbortWaitsForWhatAGroupHasEnqueued) {
  std::atomic<int> may_go_on{0}, aborted{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) {
      rank.wait_for_error();
      rank.copies->abort(10);
      return;
    }
    const Side side(rank, What::send, 1);
    run_until(rank, rank.stream(), may_go_on);
    rank.copies->begin_messages({side.message()}, rank.stream());
    rank.copies->start_messages();
    std::thread aborting([&] {
      rank.copies->abort(10);
      aborted = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(aborted);
    may_go_on = true;
    aborting.join();
    EXPECT_EQ(rank.copies->warning(), "");
    EXPECT_THROW(rank.copies->finish_messages(), PeerFailed);
  });
}

// A peer that has left with all its calls done makes no room any more.
TEST(MessagesEnd, WhoWaitsForRoomLearnsThatThePeerHasLeft) {
  on_threads({2, 0, 0}, [](TestRank& rank) {
    if (rank.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      rank.copies->abort(10);
      return;
    }
    const Side side(rank, What::send, 1, true, 8);
    const auto send_all = [&] {
      for (std::uint64_t i = 0; i <= kMessagesAhead; ++i) send(rank, side);
    };
    EXPECT_THROW(send_all(), PeerFailed);
    rank.copies->abort(10);
    rank.synchronise();
  });
}

// What comes behind a message of a communicator that has failed does not run before an abort.
TEST(MessagesEnd, StreamsStopBehindAFailure) {
  std::atomic<int> may_begin{0}, went_on{0}, sent{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Side side(rank, rank.rank == 0 ? What::receive : What::send, 1 - rank.rank);
    side.fill(1);
    if (rank.rank == 0) {
      run_until(rank, rank.stream(), may_begin);
      send(rank, side);
      rank.run(rank.stream(), [&] { went_on = true; });
      while (!sent) std::this_thread::yield();
      rank.copies->break_with("a failure");
      may_begin = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_FALSE(went_on);
    } else {
      send(rank, side);
      sent = true;
      rank.wait_for_error();
    }
    rank.copies->abort(10);
    rank.synchronise();
  });
}

// Whoever waits on the CPU, for room or for a receiver that may come in time, learns in time that
// it need not: by an abort of this rank, or by the failure of another.
void ends_a_wait_on_the_cpu(bool for_room, bool by_own_abort) {
  std::atomic<int> waits{0};
  std::atomic<int> over{0};
  on_threads({2, 0, 0, for_room ? 0 : 1e-2}, [&](TestRank& rank) {  // 28 s for a receiver
    const Sides sides(rank, true);
    if (rank.rank == 0) {
      std::thread ending([&] {
        while (!waits) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (by_own_abort) rank.copies->abort(10);
      });
      const double begin = steady_now();
      const auto wait = [&] {
        for (std::uint64_t i = 0; for_room && i < kMessagesAhead; ++i) send(rank, *sides.all[0]);
        waits = true;
        for_room ? send(rank, *sides.all[0]) : exchange_all(rank, sides.messages());
      };
      try {
        wait();
        EXPECT_FALSE(for_room);  // it may have enqueued all before the abort goes on
      } catch (const PeerFailed&) {
      }
      EXPECT_LT(steady_now() - begin, 10);
      ending.join();
      ++over;
    } else {
      while (!waits) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!by_own_abort) rank.copies->break_with("a failure");
      while (over == 0) std::this_thread::yield();
    }
    rank.copies->abort(10);
    rank.synchronise();
  });
}

TEST(MessagesEnd, AWaitOnTheCpuEnds) {
  ends_a_wait_on_the_cpu(true, true);
  ends_a_wait_on_the_cpu(true, false);
  ends_a_wait_on_the_cpu(false, true);
}

// CUDA maps no memory of a process at a base that is still mapped.
TEST(MessagesOfProcesses, WhatAPeerHasFreedIsUnmapped) {
  testing::on_processes({2, 0, 0}, [](TestRank& rank) {
    rank.device.maps_a_base_once = true;
    for (int number = 0; number < 20; ++number) {
      const Sides sides(rank, true);
      for (const auto& each : sides.all) each->fill(number);
      exchange_all(rank, sides.messages());
      rank.synchronise();
      for (const auto& each : sides.all) EXPECT_EQ(each->wrong(number), 0u);
    }
  });
}

// Unmapping waits for the device: a program that holds its streams back must know when it comes.
// The sender copies message 0 only, which the receiver comes to first.
TEST(MessagesOfProcesses, WhatAPeerHasFreedIsUnmappedWhoeverCopies) {
  std::atomic<int>* const sent = testing::shared_number();
  std::atomic<int>* const received = testing::shared_number();
  testing::on_processes({2, 0, 0}, [&](TestRank& rank) {
    const bool sends = rank.rank == 0;
    std::atomic<int>&own = sends ? *sent : *received, &peers = sends ? *received : *sent;
    const std::size_t before = rank.device.mapped();
    std::unique_ptr<Side> side;
    for (int number = 0; number < 3; ++number) {
      if (sends == (number == 0)) testing::wait_until(peers, number + 1);
      if (number < 2) {
        side = std::make_unique<Side>(rank, sends ? What::send : What::receive, 1 - rank.rank);
      }
      send(rank, *side);
      own = number + 1;
      rank.synchronise();
      testing::wait_until(peers, number + 1);
      if (sends) {
        EXPECT_EQ(rank.device.mapped() - before, number < 2 ? 1u : 0u);
      }
    }
  });
}

// An abort of both, amid exchanges, ends in time and leaves nobody behind.
TEST(MessagesEnd, AbortedAmidExchanges) {
  on_threads({3, 50, 50}, [](TestRank& rank) {
    rank.device.bytes_may_meet = true;
    const Sides sides(rank, true);
    std::thread aborting([&rank] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 + 3 * rank.rank));
      rank.copies->abort(20);
    });
    try {
      for (int number = 0; number < 100000; ++number) exchange_all(rank, sides.messages());
      ADD_FAILURE() << "no exchange failed";
    } catch (const PeerFailed&) {
    }
    aborting.join();
    EXPECT_EQ(rank.copies->warning(), "");
    rank.synchronise();
  });
}

// Who waits for a process that has ended notices, and its streams stay where they are until abort.
// Rank 1 is killed before it comes, or when its stream is not ready for rank 0's copy.
void expect_error_of_one_that_waits(What what, bool peer_comes) {
  std::atomic<int>* const come = testing::shared_number();
  testing::expect_ends({2, 0, 0}, {0, SIGKILL}, [&](TestRank& rank) {
    const What other = what == What::send ? What::receive : What::send;
    const Side side(rank, rank.rank == 0 ? what : other, 1 - rank.rank);
    if (rank.rank == 1) {
      if (peer_comes) {
        rank.run(rank.stream(), [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
        send(rank, side);
        *come = 1;
        testing::wait_until(*come, 2);
      }
      std::raise(SIGKILL);
    }
    if (peer_comes) testing::wait_until(*come, 1);
    send(rank, side);
    *come = 2;
    rank.wait_for_error();
    EXPECT_EQ(rank.copies->error(), "the process of rank 1 has ended");
    rank.end_by_abort();
  });
  munmap(come, sizeof(int));
}

TEST(MessagesEnd, AProcessThatEndsIsNoticed) {
  for (const What what : {What::send, What::receive}) {
    expect_error_of_one_that_waits(what, false);
    expect_error_of_one_that_waits(what, true);
  }
}

}  // namespace
}  // namespace duet::nccl_shim
