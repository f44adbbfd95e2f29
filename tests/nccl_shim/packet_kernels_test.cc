// The kernels of packets. Of each peer's packet buffers those that this rank writes and those that
// it reads are the same, so what it sends to a peer comes back as that peer's part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device/collective_kernel.h"
#include "drop_in_kernels.h"
#include "fake_gpu/cuda/kernels.h"

namespace duet::nccl_shim {
namespace {

using testing::element_size;
using testing::fill_elements;
using testing::ReductionCase;

// So many that a thread of two ranks' kernel has more than the four units that it moves together.
constexpr std::size_t kElementsOfTwoRanks = 131076;
// More than the drop-in has, and than peers whose packets a thread takes together.
constexpr std::size_t kMostExchangeRanks = 12, kMostPacketElements = 20004,
                      kPartRoom = kElementsOfTwoRanks * 4 + 256;
constexpr unsigned char kNothing = 0xee;

// Memory for one rank's calls.
struct Memory {
  unsigned char* sent = testing::memory_of_both(kMostExchangeRanks * kPartRoom);      // by rank
  unsigned char* received = testing::memory_of_both(kMostExchangeRanks * kPartRoom);  // likewise
  unsigned char* packets =
      testing::memory_of_both(2 * kMostExchangeRanks * packet_bytes(kPartRoom));
  std::uint32_t* last =
      reinterpret_cast<std::uint32_t*>(testing::memory_of_both(kPacketBlocks * 4));
};

// Calls of one rank of so many, of parts of so many elements, `shift` elements away from aligned
// memory.
class Exchange {
 public:
  Exchange(DType type, int ranks, int rank, std::size_t elements, std::size_t shift)
      : type_(type), ranks_(ranks), rank_(rank), elements_(elements) {
    shift_ = shift * element_size(type);
    bytes_ = elements * element_size(type);
    for (std::size_t number : {0u, 1u}) {
      std::memset(memory().packets + number * turn(), 0, kMostExchangeRanks * packet_bytes(bytes_));
    }
    std::fill_n(memory().last, kPacketBlocks, 0u);
    words().ended = 0;
    for (Word& each : words().awaited) each = 0;
  }

  unsigned char* sent(int rank) const { return memory().sent + at(rank); }
  unsigned char* received(int rank) const { return memory().received + at(rank); }
  std::size_t bytes() const { return bytes_; }
  ExchangeWords& words() const { return testing::words_of_both(); }
  const std::uint32_t* last() const { return memory().last; }
  std::vector<std::uint32_t> awaited() const {
    return {words().awaited.begin(), words().awaited.end()};
  }

  // Fills what is sent, differently at every call, and clears what is received.
  void fill(std::uint64_t call) const {
    for (int rank = 0; rank < ranks_; ++rank) {
      std::memset(received(rank), kNothing, bytes_ + 1);
      fill_elements(sent(rank), type_, elements_,
                    call * kMostExchangeRanks + static_cast<unsigned>(rank));
    }
  }

  // With `result` for the own part.
  PacketExchange moving(void* result) const {
    PacketExchange made{
        {{}, rank_, sent(rank_), result, {}, memory().last, &words()}, bytes_, turn()};
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank == rank_) continue;
      unsigned char* const buffer = memory().packets + made.peers.size() * packet_bytes(bytes_);
      made.peers.push_back({sent(rank), buffer, buffer, received(rank)});
    }
    return made;
  }
  PacketExchange reducing(void* result, Reduction reduction) const {
    PacketExchange made = moving(result);
    made.reduced = {type_, reduction};
    for (auto& each : made.peers) each.receive = nullptr;
    return made;
  }

  std::vector<unsigned char> reduced(Reduction reduction) const {
    std::vector<unsigned char> result(bytes_);
    PartsToReduce parts{result.data(), {}, bytes_, type_, reduction};
    for (int rank = 0; rank < ranks_; ++rank) parts.parts.push_back(sent(rank));
    host::reduce_parts(parts);
    return result;
  }

 private:
  static const Memory& memory() {
    static const Memory all;
    return all;
  }
  std::size_t at(int rank) const { return static_cast<std::size_t>(rank) * kPartRoom + shift_; }
  std::size_t turn() const { return kMostExchangeRanks * packet_bytes(kPartRoom); }

  DType type_;
  int ranks_, rank_;
  std::size_t elements_, shift_, bytes_;
};

void expect_bytes(const unsigned char* found, const unsigned char* expected, std::size_t bytes) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += found[i] != expected[i];
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(found[bytes], kNothing) << "behind the result";
}

template <typename Body>
void for_all_shapes(const Body& body) {
  for (const auto& [ranks, rank] :
       {std::pair{2, 0}, std::pair{2, 1}, std::pair{3, 1}, std::pair{8, 0}, std::pair{8, 5},
        std::pair{8, 7}, std::pair{12, 9}}) {
    for (const std::size_t elements :
         {std::size_t{1}, std::size_t{999}, kMostPacketElements - 3, kMostPacketElements}) {
      for (const std::size_t shift : {0u, 1u}) {
        SCOPED_TRACE(std::to_string(elements) + " elements, rank " + std::to_string(rank) + " of " +
                     std::to_string(ranks) + ", shift " + std::to_string(shift));
        body(ranks, rank, elements, shift);
      }
    }
  }
}

TEST(PacketKernels, MovePartsAndCountCalls) {
  for_all_shapes([](int ranks, int rank, std::size_t elements, std::size_t shift) {
    const Exchange one(DType::bf16, ranks, rank, elements, shift);
    for (std::uint32_t call = 1; call <= 3; ++call) {
      one.fill(call);
      testing::exchange_by_kernel(one.moving(one.received(rank)));
      for (int from = 0; from < ranks; ++from) {
        expect_bytes(one.received(from), one.sent(from), one.bytes());
      }
      for (std::size_t block = 0; block < kPacketBlocks; ++block) {
        EXPECT_EQ(one.last()[block], call);
      }
      for (const Word& each : one.words().awaited) EXPECT_EQ(each, 0u);
    }
  });
}

TEST(PacketKernels, LeaveTheOwnPartWhereItIs) {
  const Exchange one(DType::fp32, 2, 1, 999, 0);
  one.fill(1);
  testing::exchange_by_kernel(one.moving(one.sent(1)));
  expect_bytes(one.received(0), one.sent(0), one.bytes());
  EXPECT_EQ(*one.received(1), kNothing);
}

TEST(PacketKernels, MoveSeveralUnitsAThread) {
  for (const int rank : {0, 1}) {
    const auto shift = static_cast<std::size_t>(rank);
    const Exchange one(DType::fp32, 2, rank, kElementsOfTwoRanks, shift);
    for (std::uint32_t call = 1; call <= 2; ++call) {
      one.fill(call);
      testing::exchange_by_kernel(one.moving(one.received(rank)));
      for (int from = 0; from < 2; ++from) {
        expect_bytes(one.received(from), one.sent(from), one.bytes());
      }
    }
  }
}

class PacketReduction : public ::testing::TestWithParam<ReductionCase> {};

TEST_P(PacketReduction, HaveTheBitsOfTheHost) {
  const auto& [type, reduction] = GetParam();
  for_all_shapes([type = type, reduction = reduction](int ranks, int rank, std::size_t elements,
                                                      std::size_t shift) {
    const Exchange one(type, ranks, rank, elements, shift);
    for (std::uint32_t call = 1; call <= 2; ++call) {
      one.fill(call);
      testing::exchange_by_kernel(one.reducing(one.received(0), reduction));
      expect_bytes(one.received(0), one.reduced(reduction).data(), one.bytes());
    }
  });
}

TEST_P(PacketReduction, HaveTheBitsOfTheHostWithSeveralUnitsAThread) {
  const auto& [type, reduction] = GetParam();
  const Exchange one(type, 2, 1, kElementsOfTwoRanks, 0);
  one.fill(1);
  testing::exchange_by_kernel(one.reducing(one.received(0), reduction));
  expect_bytes(one.received(0), one.reduced(reduction).data(), one.bytes());
}

// As an all_reduce in place, where all parts that are sent are the result.
TEST_P(PacketReduction, MayBeInPlace) {
  const auto& [type, reduction] = GetParam();
  const Exchange one(type, 3, 1, 999, 0);
  one.fill(1);
  for (const int rank : {0, 2}) std::memcpy(one.sent(rank), one.sent(1), one.bytes());
  const std::vector<unsigned char> expected = one.reduced(reduction);
  PacketExchange exchanged = one.reducing(one.sent(1), reduction);
  for (auto& each : exchanged.peers) each.send = one.sent(1);
  testing::exchange_by_kernel(exchanged);
  EXPECT_EQ(std::memcmp(one.sent(1), expected.data(), one.bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, PacketReduction, ::testing::ValuesIn(testing::reduction_cases()),
                         [](const auto& tested) { return testing::name_of(tested.param); });

// A peer that sends nothing: the kernel says so, an abort ends it, and it writes no results.
TEST(PacketKernels, EndWhereTheExchangeIsEnded) {
  const Exchange one(DType::fp32, 4, 1, 999, 0);
  one.fill(1);
  PacketExchange exchanged = one.reducing(one.received(0), Reduction::sum);
  auto& silent = exchanged.peers[1];  // rank 2
  silent.from = static_cast<const unsigned char*>(silent.from) + 4 * packet_bytes(one.bytes());
  one.words().ended = 1;
  testing::exchange_by_kernel(exchanged);
  EXPECT_EQ(*one.received(0), kNothing);
  EXPECT_EQ(one.awaited(), (std::vector<std::uint32_t>{0, 0, 1, 0, 0, 0, 0, 0}));
}

// The last of the units that a thread moves together is missing.
TEST(PacketKernels, WaitForEachOfSeveralUnits) {
  constexpr std::size_t kThreads = kPacketBlocks * kKernelThreads, kUnit = 3 * kThreads + 5;
  const Exchange one(DType::fp32, 2, 0, kElementsOfTwoRanks, 0);
  one.fill(1);
  PacketExchange exchanged = one.moving(one.sent(0));
  const std::size_t spare = packet_bytes(one.bytes());
  auto& peer = exchanged.peers[0];
  peer.from = static_cast<unsigned char*>(peer.to) + spare;
  for (std::size_t unit = 0; unit < spare / 16; ++unit) {
    auto* const packet = reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(peer.to) +
                                                          exchanged.turn + spare + unit * 16);
    const std::uint64_t number = unit == kUnit ? 0 : 1;
    packet[0] = packet[1] = number << 32 | unit;
  }
  one.words().ended = 1;
  testing::exchange_by_kernel(exchanged);
  EXPECT_EQ(one.awaited(), (std::vector<std::uint32_t>{0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(one.received(1)[8 * kUnit], kNothing);
  EXPECT_EQ(one.received(1)[8 * (kUnit + 1)], (kUnit + 1) % 256);
}

}  // namespace
}  // namespace duet::nccl_shim
