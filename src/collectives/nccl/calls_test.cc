#include "collectives/nccl/calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "core/error.h"
#include "core/message_fixture.h"
#include "fake_gpu/nccl/recording_library.h"

namespace duet::nccl {
namespace {

using Texts = std::vector<std::string>;

Collective make(CollectiveKind kind, DType dtype = DType::fp32, std::uint64_t count = 4) {
  Collective one;
  one.kind = kind;
  one.dtype = dtype;
  one.count = count;
  one.root = 1;
  return one;
}

// As rank 1 of 3, with the send buffer at 0x1000 and the receive buffer at 0x2000 by default.
Texts calls_of(const Library& library, const Collective& collective, std::uintptr_t send = 0x1000,
               std::uintptr_t recv = 0x2000) {
  reset();
  Calls(library, {nullptr, 1, 3}, collective)
      .enqueue(reinterpret_cast<void*>(send), reinterpret_cast<void*>(recv), nullptr);
  return fake_calls().calls;
}

TEST(NcclCallsTest, OwnCallsWhereTheLibraryHasThem) {
  const Library nccl = fake_library();
  EXPECT_EQ(calls_of(nccl, make(CollectiveKind::all_gather)),
            Texts{"all_gather(0x1000, 0x2000, 4, type 7)"});
  EXPECT_EQ(calls_of(nccl, make(CollectiveKind::all_to_all, DType::int8)),
            Texts{"all_to_all(0x1000, 0x2000, 4, type 1)"});
  EXPECT_EQ(calls_of(nccl, make(CollectiveKind::broadcast, DType::int32)),
            Texts{"broadcast(0x1000, 0x2000, 4, type 2, root 1)"});
  EXPECT_EQ(calls_of(nccl, make(CollectiveKind::gather)),
            Texts{"gather(0x1000, 0x2000, 4, type 7, root 1)"});
  EXPECT_EQ(calls_of(nccl, make(CollectiveKind::scatter)),
            Texts{"scatter(0x1000, 0x2000, 4, type 7, root 1)"});
}

TEST(NcclCallsTest, Reductions) {
  const Library nccl = fake_library();
  Collective one = make(CollectiveKind::all_reduce, DType::bf16);
  EXPECT_EQ(calls_of(nccl, one), Texts{"all_reduce(0x1000, 0x2000, 4, type 9, op 0)"});
  one.op = Reduction::max;
  EXPECT_EQ(calls_of(nccl, one), Texts{"all_reduce(0x1000, 0x2000, 4, type 9, op 2)"});
  one = make(CollectiveKind::reduce_scatter, DType::fp16);
  one.op = Reduction::min;
  EXPECT_EQ(calls_of(nccl, one), Texts{"reduce_scatter(0x1000, 0x2000, 4, type 6, op 3)"});
  one.op = Reduction::avg;
  EXPECT_EQ(calls_of(nccl, one), Texts{"reduce_scatter(0x1000, 0x2000, 4, type 6, op 4)"});
}

TEST(NcclCallsTest, SendRecvIsARing) {
  EXPECT_EQ(calls_of(fake_library(), make(CollectiveKind::send_recv)),
            (Texts{"group start", "send(0x1000, 4, type 7) to 2", "recv(0x2000, 4, type 7) from 0",
                   "group end"}));
}

// NCCL matches the sends of a rank to another one with that one's receives in their order, which
// must be the same where both neighbours are one rank. In place, of fields of 4, 5, 6 ... elements.
TEST(NcclCallsTest, NeighborsGetTheRightChunks) {
  const Library nccl = fake_library();
  for (const int ranks : {1, 2, 3, 5}) {
    Collective one = make(CollectiveKind::neighbor_exchange, DType::int8);
    for (int rank = 0; rank < ranks; ++rank) {
      one.counts.push_back(4 + static_cast<std::uint64_t>(rank));
    }
    const auto field = [](int rank) { return 0x1000 * static_cast<std::uintptr_t>(rank + 1); };
    std::map<std::pair<int, int>, Texts> sent, received;  // by sender and receiver
    for (int rank = 0; rank < ranks; ++rank) {
      reset();
      Calls(nccl, {nullptr, rank, ranks}, one)
          .enqueue(reinterpret_cast<void*>(field(rank) + 4), reinterpret_cast<void*>(field(rank)),
                   nullptr);
      ASSERT_EQ(fake_calls().calls.size(), 6u);  // a group of four
      for (const std::string& call : fake_calls().calls) {
        const std::string place = call.substr(call.find('(') + 1, 6);
        const int peer = call.back() - '0';
        if (call.rfind("send", 0) == 0) sent[{rank, peer}].push_back(place);
        if (call.rfind("recv", 0) == 0) received[{peer, rank}].push_back(place);
      }
    }
    std::map<std::string, std::string> delivered;  // from where, by where to
    for (const auto& [pair, places] : sent) {
      ASSERT_EQ(received[pair].size(), places.size());
      for (std::size_t i = 0; i < places.size(); ++i) delivered[received[pair][i]] = places[i];
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const int before = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks;
      const auto text = [](std::uintptr_t at) { return fmt::format("{:#x}", at); };
      const auto count = [&](int of) { return one.counts[static_cast<std::size_t>(of)]; };
      EXPECT_EQ(delivered[text(field(rank))], text(field(before) + count(before)));
      EXPECT_EQ(delivered[text(field(rank) + 4 + count(rank))], text(field(next) + 4));
    }
  }
}

TEST(NcclCallsTest, GroupedWhereTheLibraryHasNoCall) {
  Library old = fake_library(22705);
  old.all_to_all = nullptr;
  old.gather = nullptr;
  old.scatter = nullptr;
  EXPECT_EQ(
      calls_of(old, make(CollectiveKind::all_to_all, DType::int8)),
      (Texts{"group start", "send(0x1000, 4, type 1) to 0", "send(0x1004, 4, type 1) to 1",
             "send(0x1008, 4, type 1) to 2", "recv(0x2000, 4, type 1) from 0",
             "recv(0x2004, 4, type 1) from 1", "recv(0x2008, 4, type 1) from 2", "group end"}));
  // In place the root's own chunk, here 16 bytes into the receive buffer, stays where it is.
  EXPECT_EQ(calls_of(old, make(CollectiveKind::gather), 0x2010),
            (Texts{"group start", "recv(0x2000, 4, type 7) from 0",
                   "recv(0x2020, 4, type 7) from 2", "group end"}));
  EXPECT_EQ(calls_of(old, make(CollectiveKind::scatter), 0x1000, 0x1010),
            (Texts{"group start", "send(0x1000, 4, type 7) to 0", "send(0x1020, 4, type 7) to 2",
                   "group end"}));
}

TEST(NcclCallsTest, AllToAllVSkipsWhatIsEmpty) {
  Collective one = make(CollectiveKind::all_to_all_v, DType::int8, 0);
  one.counts = {0, 5, 0,   // to rank 1: 5 of rank 0,
                2, 0, 7,   // rank 1 sends 2 and 7,
                1, 3, 0};  // and 3 of rank 2
  EXPECT_EQ(
      calls_of(fake_library(), one),
      (Texts{"group start", "send(0x1000, 2, type 1) to 0", "send(0x1002, 7, type 1) to 2",
             "recv(0x2000, 5, type 1) from 0", "recv(0x2005, 3, type 1) from 2", "group end"}));
}

TEST(NcclCallsTest, AFailureNamesCallWordsAndPlaceAndClosesTheGroup) {
  const Library nccl = fake_library();
  reset(true);
  const std::string text = message_of<Error>([&] {
    Calls(nccl, {nullptr, 0, 2}, make(CollectiveKind::send_recv))
        .enqueue(nullptr, nullptr, nullptr);
  });
  EXPECT_TRUE(contains(text, "NCCL send("));
  EXPECT_TRUE(contains(text, "internal error"));
  EXPECT_TRUE(contains(text, " at collectives/nccl/calls.cc:"));
  EXPECT_EQ(fake_calls().calls.back(), "group end");
}

}  // namespace
}  // namespace duet::nccl
