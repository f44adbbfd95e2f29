// Calls that a kernel makes by exchanges of chunks. Other tests have them beside packets.
#include "core/chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fake_gpu/core/streams.h"
#include "nccl_shim/protocol/buffers_fixture.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::Buffers;
using testing::on_threads;
using testing::Setting;
using testing::TestRank;
using testing::wrong_of_many;

constexpr Kind kAllKinds[] = {Kind::all_gather, Kind::all_to_all, Kind::broadcast,
                              Kind::reduce_scatter, Kind::all_reduce};

TEST(ChunkShape, CoversAllOfAPartByChunksThatFit) {
  for (const std::size_t round : {std::size_t{512}, kChunkRound}) {
    for (const std::size_t peers : {1u, 2u, 3u, 7u, 16u}) {
      for (std::size_t bytes = 1; bytes < 300u << 20; bytes = bytes * 3 + 1) {
        const ChunkShape shape = chunk_shape(bytes, peers, round);
        SCOPED_TRACE(std::to_string(bytes) + " B, " + std::to_string(peers) + " peers");
        ASSERT_LE(shape.blocks, kMostChunkBlocks);
        ASSERT_GE(shape.share * shape.blocks, bytes);
        ASSERT_LT(shape.share * (shape.blocks - 1), bytes);  // no block without data
        ASSERT_GE(shape.bytes * shape.count, shape.share);
        ASSERT_LT(shape.bytes * (shape.count - 1), shape.share);
        ASSERT_LE(shape.bytes, chunk_room(peers, round));
        ASSERT_EQ(shape.bytes % kChunkUnit + shape.share % kChunkUnit, 0u);
      }
    }
  }
}

// The places of every block are used again and again, in one call and in calls that follow each
// other, and ranks are as far apart as chunks let them be.
TEST(PairCopiesChunks, CallsOfManyChunksFollowEachOther) {
  for (const int ranks : {2, 3, 4}) {
    on_threads(Setting::by_chunks(ranks, 0, 0), [](TestRank& rank) {
      std::vector<std::unique_ptr<Buffers>> calls;
      for (int number = 0; number < 40; ++number) {
        const Kind kind = kAllKinds[number % 5];
        const std::size_t count = number % 3 == 0 ? 37 : 9001;  // int32, a part
        calls.push_back(std::make_unique<Buffers>(rank, kind, count, true));
        calls.back()->fill(number);
      }
      for (int number = 0; number < 40; ++number) {
        rank.copies->enqueue(calls[static_cast<std::size_t>(number)]->call(number % rank.ranks),
                             rank.stream());
      }
      rank.synchronise();
      for (int number = 0; number < 40; ++number) {
        EXPECT_EQ(calls[static_cast<std::size_t>(number)]->wrong(number, number % rank.ranks), 0u)
            << "of call " << number << " with " << rank.ranks << " ranks";
      }
      EXPECT_EQ(rank.device.chunk_exchanges, 40);
      EXPECT_EQ(rank.device.copies, 0);
    });
  }
}

// Bytes of one call, of which each rank has its own, in memory `shift` bytes away from a multiple
// of 128.
class Bytes {
 public:
  Bytes(std::size_t bytes, std::size_t shift) : all_(bytes + 256), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(all_.data());
    first_ = all_.data() + (128 - address % 128) % 128 + shift;
    std::memset(all_.data(), 0xee, all_.size());
  }
  unsigned char* data() const { return first_; }
  void fill(int number) {
    for (std::size_t i = 0; i < bytes_; ++i) first_[i] = byte(number, i);
  }
  // Whether `count` bytes from `at` on are what fill(number) writes from `from` on.
  bool has(std::size_t at, std::size_t count, int number, std::size_t from) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (first_[at + i] != byte(number, from + i)) return false;
    }
    return true;
  }
  bool is_left_alone_outside() const {
    const std::size_t before = static_cast<std::size_t>(first_ - all_.data());
    const auto is_old = [](unsigned char each) { return each == 0xee; };
    return std::all_of(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(before), is_old) &&
           std::all_of(all_.begin() + static_cast<std::ptrdiff_t>(before + bytes_), all_.end(),
                       is_old);
  }

 private:
  static unsigned char byte(int number, std::size_t i) {
    return static_cast<unsigned char>(static_cast<std::size_t>(number) * 37 + i * 11 + i / 251);
  }
  std::vector<unsigned char> all_;
  std::size_t bytes_;
  unsigned char* first_;
};

void move_bytes(TestRank& rank, Kind kind, std::size_t bytes, std::size_t shift, bool in_place) {
  const auto ranks = static_cast<std::size_t>(rank.ranks),
             own = static_cast<std::size_t>(rank.rank);
  const int root = rank.ranks - 1;
  const bool gathers = kind == Kind::all_gather, one = kind == Kind::broadcast;
  Bytes send(kind == Kind::all_to_all ? bytes * ranks : bytes, shift);
  Bytes receive(one ? bytes : bytes * ranks, shift);
  send.fill(rank.rank);
  unsigned char* from = send.data();
  if (in_place) {
    from = receive.data() + (gathers ? own * bytes : 0);
    if (!one || rank.rank == root) std::memcpy(from, send.data(), bytes);
  }
  rank.copies->enqueue({kind, from, receive.data(), bytes, root}, rank.stream());
  rank.synchronise();
  for (std::size_t source = 0; source < (one ? 1 : ranks); ++source) {
    const int number = one ? root : static_cast<int>(source);
    const std::size_t at = kind == Kind::all_to_all ? own * bytes : 0;
    EXPECT_TRUE(receive.has(source * bytes, bytes, number, at))
        << bytes << " B, kind " << static_cast<int>(kind) << ", shift " << shift << ", rank "
        << rank.rank << " of " << ranks << ", in place " << in_place;
  }
  EXPECT_TRUE(receive.is_left_alone_outside()) << bytes;
}

TEST(PairCopiesChunks, MoveAnyBytesAnywhere) {
  for (const int ranks : {2, 3, 4}) {
    on_threads(Setting::by_chunks(ranks, 0, 0), [](TestRank& rank) {
      for (const std::size_t bytes : {1u, 15u, 128u, 129u, 1000u, 4096u, 20011u, 65536u}) {
        for (const std::size_t shift : {0u, 1u, 4u}) {
          for (const bool in_place : {false, true}) {
            move_bytes(rank, Kind::all_gather, bytes, shift, in_place);
            move_bytes(rank, Kind::broadcast, bytes, shift, in_place);
          }
          move_bytes(rank, Kind::all_to_all, bytes, shift, false);
        }
      }
    });
  }
}

// In bf16, of 0 by all ranks but one, of any alignment that elements may have.
void all_reduce_any_count(TestRank& rank) {
  std::vector<std::uint16_t> memory(2 * 30100);
  for (const std::size_t count : {1u, 7u, 65u, 1001u, 30003u}) {
    for (std::size_t shift = 0; shift < 2; ++shift) {
      for (int number = 0; number < rank.ranks; ++number) {
        std::uint16_t* const send = memory.data() + shift;
        std::uint16_t* const receive = number % 2 == 0 ? send : send + 30050;
        const auto value = static_cast<std::uint16_t>(0x3f80 + 0x80 * number);  // 1, 2, 4, 8
        std::fill_n(send, count, rank.rank == number ? value : 0);
        rank.copies->enqueue({Kind::all_reduce, send, receive, 2 * count, 0, DType::bf16},
                             rank.stream());
        rank.synchronise();
        EXPECT_EQ(std::count(receive, receive + count, value), static_cast<std::ptrdiff_t>(count))
            << count << " elements, shift " << shift;
      }
    }
  }
}

TEST(PairCopiesChunks, AllReduceAnyCountAnywhere) {
  for (const int ranks : {3, 4}) on_threads(Setting::by_chunks(ranks, 50, 0), all_reduce_any_count);
}

// In fp32 2^24 + 1 - 2^24 is 0 in the order of ranks, and 1 in others; an average is divided.
void reduce_in_order(TestRank& rank) {
  constexpr std::size_t kCount = 3000;
  const float values[] = {16777216.0F, 1.0F, -16777216.0F, 0.0F};
  std::vector<float> send(static_cast<std::size_t>(rank.ranks) * kCount, values[rank.rank]);
  std::vector<float> receive(kCount, 5.0F);
  rank.copies->enqueue({Kind::reduce_scatter, send.data(), receive.data(), 4 * kCount, 0,
                        DType::fp32, Reduction::sum},
                       rank.stream());
  rank.synchronise();
  EXPECT_EQ(std::count(receive.begin(), receive.end(), 0.0F), static_cast<int>(kCount));
  std::fill(send.begin(), send.end(), static_cast<float>(rank.rank));
  rank.copies->enqueue({Kind::reduce_scatter, send.data(), receive.data(), 4 * kCount, 0,
                        DType::fp32, Reduction::avg},
                       rank.stream());
  rank.synchronise();
  EXPECT_EQ(std::count(receive.begin(), receive.end(), static_cast<float>(rank.ranks - 1) / 2),
            static_cast<int>(kCount));
}

TEST(PairCopiesChunks, ReduceInTheOrderOfRanks) {
  for (const int ranks : {3, 4}) on_threads(Setting::by_chunks(ranks, 0, 0), reduce_in_order);
}

// Larger calls are copies, smaller ones packets.
TEST(PairCopiesChunks, ComeBetweenPacketsAndCopies) {
  Setting setting = Setting::by_chunks(3, 50, 100, 30000);
  setting.most_by_packets = 1024;
  on_threads(setting, [](TestRank& rank) {
    const Buffers small(rank, Kind::all_gather, 20, true),
        middle(rank, Kind::all_gather, 2000, true), large(rank, Kind::all_gather, 4000, true);
    const Buffers* const sizes[] = {&small, &middle, &large};
    std::atomic<std::size_t> wrong{0};
    for (int number = 0; number < 30; ++number) {
      const Buffers& buffers = *sizes[number * number % 7 % 3];
      const ShimDevice::Stream stream = rank.stream(number % 2);
      rank.run(stream, [&buffers, number] { buffers.fill(number); });
      rank.copies->enqueue(buffers.call(), stream);
      rank.run(stream, [&, number] { wrong += buffers.wrong(number); });
      rank.synchronise();
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(rank.device.copies, 0);
    EXPECT_GT(rank.device.chunk_exchanges, 0);
    EXPECT_TRUE(rank.copies->by_packets(small.call()));
    EXPECT_FALSE(rank.copies->by_chunks(small.call(), true));
    EXPECT_TRUE(rank.copies->by_chunks(middle.call(), false));
    EXPECT_FALSE(rank.copies->by_chunks(large.call(), false));
    EXPECT_TRUE(rank.copies->by_chunks(large.call(), true));
  });
}

}  // namespace
}  // namespace duet::nccl_shim
