// The kernels of chunks. Of each peer's buffers that which this rank writes and that which it reads
// are the same, so what it sends to a peer comes back as that peer's part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "drop_in_kernels.h"
#include "fake_gpu/cuda/kernels.h"

namespace duet::nccl_shim {
namespace {

using testing::element_size;
using testing::fill_elements;
using testing::ReductionCase;

constexpr std::size_t kMostChunkRanks = 8, kChunkPartRoom = 300000, kSmallRound = 4096;
constexpr std::size_t kBuffersBytes =
    kMostChunkRanks * chunk_buffer_bytes(1, kSmallRound);  // the longest
constexpr unsigned char kUntouched = 0xee;

// Memory for one rank's calls, by rank.
struct ChunkMemory {
  unsigned char* sent = testing::memory_of_both(kMostChunkRanks * kChunkPartRoom);
  unsigned char* received = testing::memory_of_both(kMostChunkRanks * kChunkPartRoom);
  unsigned char* buffers = testing::memory_of_both(kBuffersBytes);
  std::uint32_t* last = reinterpret_cast<std::uint32_t*>(testing::memory_of_both(kChunkStateBytes));
};

// Calls of one rank, of parts of so many elements that are `shift` elements away from aligned
// memory, behind calls of `before` chunks.
class ChunksOfOne {
 public:
  ChunksOfOne(DType type, int ranks, int rank, std::size_t elements, std::size_t shift,
              std::uint32_t before = 0)
      : type_(type),
        ranks_(ranks),
        rank_(rank),
        elements_(elements),
        shift_(shift * element_size(type)) {
    std::memset(memory().buffers, 0, kBuffersBytes);
    std::memset(memory().last, 0, kChunkStateBytes);
    std::fill_n(memory().last, kMostChunkBlocks, before);
    for (int peer = 0; peer < ranks - 1; ++peer) {
      for (std::size_t block = 0; block < kMostChunkBlocks; ++block) {
        std::memcpy(buffer(peer) + block * kChunkFlagBytes, &before, sizeof before);
      }
    }
    words().ended = 0;
    for (Word& each : words().awaited) each = 0;
  }

  unsigned char* sent(int rank) const { return memory().sent + at(rank); }
  unsigned char* received(int rank) const { return memory().received + at(rank); }
  std::size_t bytes() const { return elements_ * element_size(type_); }
  std::uint32_t last() const { return memory().last[0]; }
  ExchangeWords& words() const { return testing::words_of_both(); }

  void fill(std::uint64_t call) const {
    for (int rank = 0; rank < ranks_; ++rank) {
      std::memset(received(rank), kUntouched, bytes() + 1);
      fill_elements(sent(rank), type_, elements_,
                    call * kMostChunkRanks + static_cast<unsigned>(rank));
    }
  }

  ChunkExchange moving(void* result) const {
    ChunkExchange made{};
    made.rank = rank_;
    made.own = sent(rank_);
    made.result = result;
    made.last = memory().last;
    made.words = &words();
    made.round = kSmallRound;
    made.parts.assign(static_cast<std::size_t>(ranks_), bytes());
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank == rank_) continue;
      unsigned char* const both = buffer(static_cast<int>(made.peers.size()));
      made.peers.push_back({sent(rank), both, both, received(rank)});
    }
    return made;
  }
  ChunkExchange reducing(void* result, Reduction reduction) const {
    ChunkExchange made = moving(result);
    made.reduced = {type_, reduction};
    return made;
  }

  std::vector<unsigned char> buffers() const {
    return {memory().buffers, memory().buffers + kBuffersBytes};
  }
  std::vector<unsigned char> reduced(Reduction reduction) const {
    std::vector<unsigned char> result(bytes());
    PartsToReduce parts{result.data(), {}, bytes(), type_, reduction};
    for (int rank = 0; rank < ranks_; ++rank) parts.parts.push_back(sent(rank));
    host::reduce_parts(parts);
    return result;
  }

 private:
  static const ChunkMemory& memory() {
    static const ChunkMemory all;
    return all;
  }
  unsigned char* buffer(int peer) const {
    return memory().buffers +
           static_cast<std::size_t>(peer) *
               chunk_buffer_bytes(static_cast<std::size_t>(ranks_ - 1), kSmallRound);
  }
  std::size_t at(int rank) const {
    return static_cast<std::size_t>(rank) * kChunkPartRoom + shift_;
  }

  DType type_;
  int ranks_, rank_;
  std::size_t elements_, shift_;
};

void expect_part(const unsigned char* found, const unsigned char* expected, std::size_t bytes) {
  EXPECT_EQ(std::memcmp(found, expected, bytes), 0);
  EXPECT_EQ(found[bytes], kUntouched) << "behind the result";
}

// The last of these sizes is more chunks than there are places.
template <typename Body>
void for_all_chunk_shapes(std::size_t largest, const Body& body) {
  for (const auto& [ranks, rank] :
       {std::pair{2, 0}, std::pair{2, 1}, std::pair{3, 1}, std::pair{8, 5}}) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{999}, largest}) {
      for (const std::size_t shift : {0u, 1u}) {
        SCOPED_TRACE(std::to_string(elements) + " elements, rank " + std::to_string(rank) + " of " +
                     std::to_string(ranks) + ", shift " + std::to_string(shift));
        body(ranks, rank, elements, shift);
      }
    }
  }
}

TEST(ChunkKernels, MoveParts) {
  for_all_chunk_shapes(140001, [](int ranks, int rank, std::size_t elements, std::size_t shift) {
    const ChunksOfOne one(DType::bf16, ranks, rank, elements, shift);
    for (std::uint64_t call = 1; call <= 2; ++call) {
      one.fill(call);
      testing::exchange_by_kernel(one.moving(one.received(rank)));
      for (int from = 0; from < ranks; ++from) {
        expect_part(one.received(from), one.sent(from), one.bytes());
      }
      for (const Word& each : one.words().awaited) EXPECT_EQ(each, 0u);
    }
  });
}

// As an all_gather, in place and not.
TEST(ChunkKernels, MoveOnePartToAll) {
  for_all_chunk_shapes(70001, [](int ranks, int rank, std::size_t elements, std::size_t shift) {
    const ChunksOfOne one(DType::fp32, ranks, rank, elements, shift);
    for (const bool in_place : {false, true}) {
      one.fill(1);
      ChunkExchange exchanged = one.moving(in_place ? one.sent(rank) : one.received(rank));
      for (auto& each : exchanged.peers) each.send = exchanged.own;
      testing::exchange_by_kernel(exchanged);
      for (int from = 0; from < ranks; ++from) {
        if (in_place && from == rank) continue;
        expect_part(one.received(from), one.sent(rank), one.bytes());
      }
    }
  });
}

TEST(ChunkKernels, CountChunksInACircle) {
  const ChunksOfOne one(DType::fp32, 3, 1, 70001, 0, 0xfffffffd);
  for (std::uint64_t call = 1; call <= 3; ++call) {
    one.fill(call);
    testing::exchange_by_kernel(one.moving(one.received(1)));
    for (int from = 0; from < 3; ++from) {
      expect_part(one.received(from), one.sent(from), one.bytes());
    }
  }
  EXPECT_GE(one.last(), 3u);
  EXPECT_LE(one.last(), 100u);
}

class ChunkReduction : public ::testing::TestWithParam<ReductionCase> {};

TEST_P(ChunkReduction, HasTheBitsOfTheHost) {
  const auto& [type, reduction] = GetParam();
  for_all_chunk_shapes(20001, [type = type, reduction = reduction](
                                  int ranks, int rank, std::size_t elements, std::size_t shift) {
    const ChunksOfOne one(type, ranks, rank, elements, shift);
    one.fill(1);
    testing::exchange_by_kernel(one.reducing(one.received(rank), reduction));
    expect_part(one.received(rank), one.reduced(reduction).data(), one.bytes());
  });
}

// As an all_reduce, whose result comes back from all peers.
TEST_P(ChunkReduction, IsPassedOn) {
  const auto& [type, reduction] = GetParam();
  for_all_chunk_shapes(30001, [type = type, reduction = reduction](
                                  int ranks, int rank, std::size_t elements, std::size_t shift) {
    const ChunksOfOne one(type, ranks, rank, elements, shift);
    for (std::uint64_t call = 1; call <= 2; ++call) {
      one.fill(call);
      const std::vector<unsigned char> expected = one.reduced(reduction);
      ChunkExchange exchanged = one.reducing(one.sent(rank), reduction);
      exchanged.passes_on = true;
      testing::exchange_by_kernel(exchanged);
      EXPECT_EQ(std::memcmp(one.sent(rank), expected.data(), one.bytes()), 0);
      for (int from = 0; from < ranks; ++from) {
        if (from != rank) expect_part(one.received(from), expected.data(), one.bytes());
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Kernels, ChunkReduction, ::testing::ValuesIn(testing::reduction_cases()),
                         [](const auto& tested) { return testing::name_of(tested.param); });

// A call of rank 1 of 4, whose ranks 2 and 3 send nothing, is ended.
ChunkExchange run_ended_call(const ChunksOfOne& one) {
  one.fill(1);
  ChunkExchange exchanged = one.reducing(one.received(0), Reduction::sum);
  for (const std::size_t silent : {1u, 2u}) {
    exchanged.peers[silent].from = static_cast<const unsigned char*>(exchanged.peers[silent].from) +
                                   2 * chunk_buffer_bytes(3, kSmallRound);
  }
  one.words().ended = 1;
  testing::exchange_by_kernel(exchanged);
  return exchanged;
}

// The kernel says of which peers nothing comes, an abort ends it, and it takes nothing.
TEST(ChunkKernels, EndWhereTheExchangeIsEnded) {
  const ChunksOfOne one(DType::fp32, 4, 1, 999, 0);
  run_ended_call(one);
  EXPECT_EQ(*one.received(0), kUntouched);
  const auto& awaited = one.words().awaited;
  EXPECT_EQ((std::vector<std::uint32_t>{awaited.begin(), awaited.end()}),
            (std::vector<std::uint32_t>{0, 0, 1, 1, 0, 0, 0, 0}));
}

// A peer may still take what the ended call has sent it: the call behind it sends nothing.
TEST(ChunkKernels, SendNothingBehindAnEndedCall) {
  const ChunksOfOne one(DType::fp32, 4, 1, 999, 0);
  const ChunkExchange exchanged = run_ended_call(one);
  const std::vector<unsigned char> sent = one.buffers();
  one.fill(2);
  testing::exchange_by_kernel(exchanged);
  EXPECT_TRUE(one.buffers() == sent);
}

}  // namespace
}  // namespace duet::nccl_shim
