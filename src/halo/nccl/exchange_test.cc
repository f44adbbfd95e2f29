// Which row NCCL delivers where: it matches the sends of a rank to another one with that one's
// receives in their order.
#include "halo/nccl/exchange.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace duet::nccl {
namespace {

// The calls of one rank. A library's functions are plain ones, so its state is this file's.
struct Message {
  bool sends = false;
  const void* data = nullptr;
  int peer = 0;
  bool in_group = false;
};
std::vector<Message> messages;
bool in_group = false;

Library recording_library() {
  Library library;
  library.error_string = [](Result) { return "error"; };
  library.group_start = [] { return in_group = true, kSuccess; };
  library.group_end = [] { return in_group = false, kSuccess; };
  library.send = [](const void* data, std::size_t, Type, int peer, Comm, NativeStream) {
    messages.push_back({true, data, peer, in_group});
    return kSuccess;
  };
  library.recv = [](void* data, std::size_t, Type, int peer, Comm, NativeStream) {
    messages.push_back({false, data, peer, in_group});
    return kSuccess;
  };
  return library;
}

// Addresses that name a rank and a row.
enum Row { first, last, upper, lower };
void* address(int rank, Row row) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(16 * (rank + 1) + row));
}

Ring ring_at(int rank, int ranks) { return {rank, (rank + ranks - 1) % ranks, (rank + 1) % ranks}; }

class NcclExchange : public ::testing::TestWithParam<int> {};

TEST_P(NcclExchange, DeliversEachRowToTheRightHalo) {
  const int ranks = GetParam();
  const Library library = recording_library();
  using Pair = std::pair<int, int>;  // from, to
  std::map<Pair, std::vector<const void*>> sent, received;
  for (int rank = 0; rank < ranks; ++rank) {
    messages.clear();
    const HaloRowAddresses rows{address(rank, first), address(rank, last), address(rank, upper),
                                address(rank, lower)};
    exchange_rows(library, nullptr, ring_at(rank, ranks), rows, 8, nullptr);
    ASSERT_EQ(messages.size(), 4u);
    for (const Message& message : messages) {
      EXPECT_TRUE(message.in_group);  // or two ranks that both receive first would wait for ever
      auto& list = message.sends ? sent[{rank, message.peer}] : received[{message.peer, rank}];
      list.push_back(message.data);
    }
  }
  std::map<const void*, const void*> delivered;  // by halo row
  for (const auto& [pair, rows] : sent) {
    ASSERT_EQ(received[pair].size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) delivered[received[pair][i]] = rows[i];
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const Ring ring = ring_at(rank, ranks);
    EXPECT_EQ(delivered[address(rank, upper)], address(ring.above, last)) << "rank " << rank;
    EXPECT_EQ(delivered[address(rank, lower)], address(ring.below, first)) << "rank " << rank;
  }
}

// Two ranks are each other's both neighbours; one is its own.
INSTANTIATE_TEST_SUITE_P(Ranks, NcclExchange, ::testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace duet::nccl
