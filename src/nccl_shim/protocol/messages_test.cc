// Messages of PairCopies on host devices.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "nccl_shim/protocol/messages_fixture.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::exchange_all;
using testing::kWords;
using testing::on_threads;
using testing::send;
using testing::Setting;
using testing::Side;
using testing::Sides;
using testing::TestRank;
using What = Message::What;

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

// A sender that has no room stays behind the message whose record is being read: here while its
// receiver maps the memory that it names.
TEST(MessagesOfProcesses, RoomIsMadeWhenARecordHasBeenRead) {
  constexpr int kCount = static_cast<int>(kMessagesAhead) + 1;
  constexpr std::size_t kEach = 8;  // elements of a message
  std::atomic<int>* const made = testing::shared_number();
  testing::on_processes({2, 0, 0}, [=](TestRank& rank) {
    const What what = rank.rank == 0 ? What::send : What::receive;
    auto* const values = static_cast<int*>(rank.device.allocate(kCount * kEach * sizeof(int)));
    for (int i = 0; i < kCount * static_cast<int>(kEach); ++i) {
      values[i] = rank.rank == 0 ? i / static_cast<int>(kEach) : -1;
    }
    if (rank.rank == 1) {
      testing::wait_until(*made, static_cast<int>(kMessagesAhead));
      rank.device.before_import = [=] {
        for (int i = 0; i < 100 && *made < kCount; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      };
    }
    for (std::size_t number = 0; number < kCount; ++number) {
      rank.copies->enqueue_message(
          {what, 1 - rank.rank, values + number * kEach, kEach * sizeof(int)}, rank.stream());
      ++*made;
    }
    rank.synchronise();
    for (std::size_t number = 0; number < kCount; ++number) {
      EXPECT_EQ(values[number * kEach], static_cast<int>(number));
    }
    rank.device.free(values);
  });
}

}  // namespace
}  // namespace duet::nccl_shim
