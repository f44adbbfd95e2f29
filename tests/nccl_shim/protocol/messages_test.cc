// Messages of PairCopies on host devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "test_ranks.h"

namespace duet::nccl_shim {
namespace {

using testing::on_threads;
using testing::Setting;
using testing::TestRank;
using What = Message::What;

constexpr std::size_t kWords = 700;

// The buffer of one side of a message.
class Side {
 public:
  // Not `lendable`: memory that the device does not know.
  Side(TestRank& rank, What what, int peer, bool lendable = true, std::size_t words = kWords)
      : rank_(rank), what_(what), peer_(peer), words_(words) {
    if (lendable) {
      data_ = static_cast<std::uint32_t*>(rank.device.allocate(4 * words));
    } else {
      own_.resize(words);
      data_ = own_.data();
    }
  }
  ~Side() {
    if (own_.empty()) rank_.device.free(data_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  Message message() const { return {what_, peer_, data_, 4 * words_}; }

  // What message `number` holds, or what no message holds where it is to be received: if that comes
  // behind the message, it is seen.
  void fill(int number) const {
    for (std::size_t i = 0; i < words_; ++i) {
      data_[i] = what_ == What::send ? expected(number, i) : 0xffffffffu;
    }
  }
  std::size_t wrong(int number) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < words_; ++i) count += data_[i] != expected(number, i);
    return count;
  }

 private:
  std::uint32_t expected(int number, std::size_t index) const {
    const int source = what_ == What::send ? rank_.rank : peer_;
    const int destination = what_ == What::send ? peer_ : rank_.rank;
    return static_cast<std::uint32_t>(number * 1000003 + source * 4099 + destination * 257) +
           static_cast<std::uint32_t>(index);
  }

  TestRank& rank_;
  What what_;
  int peer_;
  std::size_t words_;
  std::vector<std::uint32_t> own_;
  std::uint32_t* data_;
};

// The messages of a group.
void exchange_all(TestRank& rank, const std::vector<Message>& messages, ShimDevice::Stream stream) {
  rank.copies->begin_messages(messages, stream);
  rank.copies->start_messages();
  rank.copies->finish_messages();
}

void exchange_all(TestRank& rank, const std::vector<Message>& messages) {
  exchange_all(rank, messages, rank.stream());
}

void send(TestRank& rank, const Side& side) {
  rank.copies->enqueue_message(side.message(), rank.stream());
}

// Sides with every other rank, in both directions, and with itself if `with_itself`.
struct Sides {
  Sides(TestRank& rank, bool lendable, bool with_itself = false) {
    for (int step = with_itself ? 0 : 1; step < rank.ranks; ++step) {
      const int peer = (rank.rank + step) % rank.ranks;
      all.push_back(std::make_unique<Side>(rank, What::send, peer, lendable));
      all.push_back(std::make_unique<Side>(rank, What::receive, peer, lendable));
    }
  }
  std::vector<Message> messages() const {
    std::vector<Message> list;
    for (const auto& each : all) list.push_back(each->message());
    return list;
  }
  std::vector<std::unique_ptr<Side>> all;
};

// Fills, exchanges and checks without a wait on the CPU.
std::size_t wrong_of_exchanges(TestRank& rank, const Sides& sides, int count) {
  std::atomic<std::size_t> wrong{0};
  for (int number = 0; number < count; ++number) {
    rank.run(rank.stream(), [&sides, number] {
      for (const auto& each : sides.all) each->fill(number);
    });
    rank.pause();
    exchange_all(rank, sides.messages());
    rank.run(rank.stream(), [&sides, &wrong, number] {
      for (const auto& each : sides.all) wrong += each->wrong(number);
    });
  }
  rank.synchronise();
  return wrong;
}

class Messages : public ::testing::TestWithParam<Setting> {};

TEST_P(Messages, ExchangesHaveTheirOwnData) {
  on_threads(GetParam(), [](TestRank& rank) {
    const Sides sides(rank, true, rank.ranks == 3);
    EXPECT_EQ(wrong_of_exchanges(rank, sides, 40), 0u);
  });
}

TEST_P(Messages, BuffersThatCannotBeLentAreStaged) {
  on_threads(GetParam(), [](TestRank& rank) {
    const Sides sides(rank, rank.rank != 0);
    EXPECT_EQ(wrong_of_exchanges(rank, sides, 12), 0u);
  });
}

// Around a ring, one after the other: even ranks send first.
TEST_P(Messages, AloneAndInOrder) {
  on_threads(GetParam(), [](TestRank& rank) {
    const Side sent(rank, What::send, (rank.rank + 1) % rank.ranks);
    const Side received(rank, What::receive, (rank.rank + rank.ranks - 1) % rank.ranks);
    std::atomic<std::size_t> wrong{0};
    for (int number = 0; number < 40; ++number) {
      rank.run(rank.stream(), [&, number] {
        sent.fill(number);
        received.fill(number);
      });
      rank.pause();
      send(rank, rank.rank % 2 == 0 ? sent : received);
      send(rank, rank.rank % 2 == 0 ? received : sent);
      rank.run(rank.stream(), [&, number] { wrong += received.wrong(number); });
    }
    rank.synchronise();
    EXPECT_EQ(wrong, 0u);
  });
}

std::string setting_name(const ::testing::TestParamInfo<Setting>& tested) {
  const Setting& setting = tested.param;
  return "ranks_" + std::to_string(setting.ranks) + "_delays_" +
         std::to_string(setting.device_delay) + "_" + std::to_string(setting.cpu_delay) +
         (setting.wait_per_byte > 0 ? "_waits" : "");
}

INSTANTIATE_TEST_SUITE_P(Settings, Messages,
                         ::testing::Values(Setting{2, 0, 0}, Setting{2, 100, 300},
                                           Setting{3, 100, 300}, Setting{4, 50, 100},
                                           Setting{2, 50, 200, 5e-8}, Setting{4, 0, 100, 5e-8}),
                         setting_name);

// Copies of two processes: the memory of each is mapped by the other.
TEST(MessagesOfProcesses, HaveTheirOwnData) {
  testing::on_processes({3, 50, 100}, [](TestRank& rank) {
    for (int round = 0; round < 3; ++round) {
      const Sides sides(rank, true);
      EXPECT_EQ(wrong_of_exchanges(rank, sides, 8), 0u);
    }
  });
}

// Who is second copies, and both push where each finds the other in time.
TEST(MessagesWays, WhoIsSecondCopies) {
  std::atomic<int> come{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Sides sides(rank, true);
    while (come < rank.rank) std::this_thread::yield();
    exchange_all(rank, sides.messages());
    ++come;
    rank.synchronise();
    EXPECT_EQ(rank.device.copies, rank.rank == 0 ? 0 : 2);
  });
}

TEST(MessagesWays, BothPushWhereTheSecondComesInTime) {
  on_threads({2, 0, 0, 1e-2}, [](TestRank& rank) {  // 28 s
    const Sides sides(rank, true);
    for (int number = 0; number < 10; ++number) exchange_all(rank, sides.messages());
    rank.synchronise();
    EXPECT_EQ(rank.device.copies, 10);
  });
}

// As ranks of one thread do: all have come before one goes on, so that nobody waits on the CPU.
TEST(MessagesWays, BothPushInAGroupOfOneThread) {
  std::atomic<int> begun{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Sides sides(rank, true);
    rank.copies->begin_messages(sides.messages(), rank.stream());
    ++begun;
    while (begun < 2) std::this_thread::yield();
    rank.copies->start_messages();
    rank.copies->finish_messages();
    rank.synchronise();
    EXPECT_EQ(rank.device.copies, 1);
  });
}

// Rank 1 comes to what rank 0 sends it only behind what depends on rank 0's other message.
TEST(MessagesOfAGroup, DoNotWaitForEachOther) {
  std::atomic<int> come{0};
  on_threads({3, 20, 0}, [&](TestRank& rank) {
    const auto in_turn = [&](int turn, const auto& what) {  // on the CPU
      while (come < turn) std::this_thread::yield();
      what();
      ++come;
    };
    if (rank.rank == 0) {
      const Side first(rank, What::send, 1), second(rank, What::send, 2);
      first.fill(1);
      second.fill(1);
      in_turn(2, [&] { exchange_all(rank, {first.message(), second.message()}); });
      rank.synchronise();
    } else if (rank.rank == 1) {
      const Side behind(rank, What::receive, 2), first(rank, What::receive, 0);
      in_turn(0, [&] {
        send(rank, behind);
        send(rank, first);
      });
      rank.synchronise();
      EXPECT_EQ(first.wrong(1) + behind.wrong(1), 0u);
    } else {
      const Side received(rank, What::receive, 0), sent(rank, What::send, 1);
      sent.fill(1);
      in_turn(1, [&] {
        send(rank, received);
        send(rank, sent);
      });
      rank.synchronise();
      EXPECT_EQ(received.wrong(1), 0u);
    }
  });
}

// The peer comes to the message behind what the group's stream has between start and finish, as the
// group's other calls.
TEST(MessagesOfAGroup, AreWaitedForBehindTheGroupsOtherWork) {
  for (const What of_first : {What::send, What::receive}) {
    std::atomic<bool> worked{false};
    on_threads({2, 0, 0}, [&](TestRank& rank) {
      const bool sends = (rank.rank == 0) == (of_first == What::send);
      const Side side(rank, sends ? What::send : What::receive, 1 - rank.rank);
      side.fill(1);
      if (rank.rank == 0) {
        rank.copies->begin_messages({side.message()}, rank.stream());
        rank.copies->start_messages();
        rank.run(rank.stream(), [&] { worked = true; });
        rank.copies->finish_messages();
      } else {
        rank.run(rank.stream(), [&] {
          while (!worked) std::this_thread::yield();
        });
        send(rank, side);
      }
      rank.synchronise();
      EXPECT_EQ(side.wrong(1), 0u);
    });
  }
}

// Messages and calls on two streams are in one order.
TEST(MessagesOfAGroup, AreInOrderWithCalls) {
  on_threads({2, 100, 100}, [](TestRank& rank) {
    auto* gathered = static_cast<std::uint32_t*>(rank.device.allocate(2 * 4 * kWords));
    const Side sent(rank, What::send, 1 - rank.rank), received(rank, What::receive, 1 - rank.rank);
    std::atomic<std::size_t> wrong{0};
    for (int number = 0; number < 20; ++number) {
      const ShimDevice::Stream one = rank.stream(number % 2), other = rank.stream(1 - number % 2);
      rank.run(one, [&, number] {
        sent.fill(number);
        received.fill(number);
      });
      exchange_all(rank, {sent.message(), received.message()}, one);
      // Sends on what has come.
      rank.copies->enqueue({Kind::all_gather, received.message().buffer, gathered, 4 * kWords, 0},
                           other);
      rank.run(other, [&, number] {
        const std::uint32_t* own = gathered + static_cast<std::size_t>(rank.rank) * kWords;
        wrong += std::memcmp(own, received.message().buffer, 4 * kWords) != 0;
        wrong += received.wrong(number);
      });
    }
    rank.synchronise();
    EXPECT_EQ(wrong, 0u);
    rank.device.free(gathered);
  });
}

// A sender that is far ahead waits for room, and no record is written over that is still to be
// read.
TEST(MessagesAhead, WaitForRoom) {
  constexpr int kCount = static_cast<int>(kMessagesAhead) * 2 + 10;
  std::atomic<int> made{0};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const What what = rank.rank == 0 ? What::send : What::receive;
    std::vector<std::unique_ptr<Side>> sides;
    for (int number = 0; number < kCount; ++number) {
      sides.push_back(std::make_unique<Side>(rank, what, 1 - rank.rank, true, 8));
      sides.back()->fill(number);
    }
    if (rank.rank == 1) {
      while (made < static_cast<int>(kMessagesAhead)) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(made, static_cast<int>(kMessagesAhead));
    }
    std::size_t wrong = 0;
    for (const auto& each : sides) {
      send(rank, *each);
      if (rank.rank == 0) ++made;
    }
    rank.synchronise();
    for (int number = 0; rank.rank == 1 && number < kCount; ++number) {
      wrong += sides[static_cast<std::size_t>(number)]->wrong(number);
    }
    EXPECT_EQ(wrong, 0u);
  });
}

TEST(MessagesErrors, BothSidesSizesAreEqual) {
  std::atomic<int> failures{0};
  std::atomic<bool> sent{false};
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
  std::atomic<bool> aborted{false};
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

// Where the peer has come, an abort waits for its copy: nothing is written behind the abort.
TEST(MessagesEnd, AnAbortWaitsForThePeersCopy) {
  std::atomic<bool> aborted{false}, pushing{false};
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
  std::atomic<bool> may_go_on{false}, aborted{false};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    if (rank.rank == 1) {
      rank.wait_for_error();
      rank.copies->abort(10);
      return;
    }
    const Side side(rank, What::send, 1);
    rank.run(rank.stream(), [&] {
      while (!may_go_on) std::this_thread::yield();
    });
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
  std::atomic<bool> may_begin{false}, went_on{false}, sent{false};
  on_threads({2, 0, 0}, [&](TestRank& rank) {
    const Side side(rank, rank.rank == 0 ? What::receive : What::send, 1 - rank.rank);
    side.fill(1);
    if (rank.rank == 0) {
      rank.run(rank.stream(), [&] {
        while (!may_begin) std::this_thread::yield();
      });
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

// An abort of both, amid exchanges, ends in time and leaves nobody behind.
TEST(MessagesEnd, AbortedAmidExchanges) {
  on_threads({3, 50, 50}, [](TestRank& rank) {
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
TEST(MessagesEnd, AProcessThatEndsIsNoticed) {
  const std::vector<int> processes = testing::start_processes({2, 0, 0}, [](TestRank& rank) {
    const Side sent(rank, What::send, 1 - rank.rank);
    if (rank.rank == 1) std::raise(SIGKILL);
    send(rank, sent);
    rank.wait_for_error();
    EXPECT_EQ(rank.copies->error(), "the process of rank 1 has ended");
    rank.copies->abort(10);
    EXPECT_EQ(rank.copies->warning(), "");
    rank.synchronise();
  });
  EXPECT_EQ(testing::end_of(processes[0]), 0);
  EXPECT_EQ(testing::end_of(processes[1]), SIGKILL);
}

}  // namespace
}  // namespace duet::nccl_shim
