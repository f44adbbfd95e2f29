// Packets without numbers, and rows that are normalised behind them. What a rank sends to a peer
// comes back as that peer's part, since the packet buffers at both are one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/dtype.h"
#include "core/random.h"
#include "device/gpu/chunk_exchange.h"
#include "device/gpu/norm_exchange.h"
#include "device/gpu/packet_exchange.h"
#include "emulation.h"

namespace duet::DUET_GPU {
namespace {

constexpr std::uint32_t kPlaces = 4;

struct NeverEnds {
  template <typename Missing>
  bool operator()(const Missing&) const {
    return true;
  }
};
struct EndsAtOnce {
  template <typename Missing>
  bool operator()(const Missing&) const {
    return false;
  }
};

// A rank of `ranks`, with parts of so many bf16 elements for each. Words, so that all is aligned.
class LoopedBack {
 public:
  LoopedBack(std::uint32_t ranks, std::uint32_t rank, std::size_t elements)
      : bytes_(2 * elements),
        words_((bytes_ + 7) / 8),
        sent_(ranks, std::vector<std::uint64_t>(words_)),
        result_(words_ + 1),
        buffers_(ranks - 1, std::vector<std::uint64_t>(packet_buffer_bytes(bytes_) / 8)),
        last_(kPlaces, 0) {
    gpu::PacketTable& of = table.exchange;
    of.count = ranks - 1;
    of.rank = rank;
    of.own = bytes_of(sent_[rank]);
    of.result = bytes_of(result_);
    of.last = last_.data();
    of.bytes = bytes_;
    of.turn = gpu::turn_bytes(bytes_, false);
    of.divisor = 1;
    of.places = kPlaces;
    of.aligned = 1;
    for (std::uint32_t peer = 0; peer < of.count; ++peer) {
      unsigned char* const buffer = bytes_of(buffers_[peer]);
      of.peers[peer] = {bytes_of(sent_[peer < rank ? peer : peer + 1]), buffer, buffer, nullptr};
    }
  }

  // Normal numbers, of both signs.
  void fill(std::uint64_t call) {
    for (std::size_t from = 0; from < sent_.size(); ++from) {
      for (std::size_t i = 0; i < bytes_ / 2; ++i) {
        const auto bits = static_cast<std::uint16_t>(random_word(call * 100 + from, i));
        put(sent_[from], i, static_cast<std::uint16_t>((bits & 0x807f) | 0x3f80));
      }
    }
  }
  float sum(std::size_t i) const {
    float sum = 0;
    for (const auto& part : sent_) sum += at(part, i);
    return sum;
  }
  float result(std::size_t i) const { return at(result_, i); }

  // Of the buffers of all peers, the words of a turn.
  bool is_clear(std::size_t turn) const {
    return std::all_of(buffers_.begin(), buffers_.end(), [&](const auto& buffer) {
      const auto* const first = buffer.data() + turn * words_;
      return std::all_of(first, first + words_, [](std::uint64_t word) { return word == 0; });
    });
  }

  static unsigned char* bytes_of(std::vector<std::uint64_t>& words) {
    return reinterpret_cast<unsigned char*>(words.data());
  }
  static float at(const std::vector<std::uint64_t>& words, std::size_t i) {
    return load(DType::bf16, reinterpret_cast<const char*>(words.data()) + 2 * i);
  }
  static void put(std::vector<std::uint64_t>& words, std::size_t i, std::uint16_t bits) {
    std::memcpy(reinterpret_cast<char*>(words.data()) + 2 * i, &bits, 2);
  }

  gpu::PacketKernelTable table{};

 private:
  std::size_t bytes_, words_;
  std::vector<std::vector<std::uint64_t>> sent_;
  std::vector<std::uint64_t> result_;
  std::vector<std::vector<std::uint64_t>> buffers_;
  std::vector<std::uint32_t> last_;
};

float rounded(float value) {
  std::uint16_t bits = 0;
  store(DType::bf16, &bits, value);
  return load(DType::bf16, &bits);
}

template <typename GoesOn>
void add_up(const gpu::PacketKernelTable& table, const GoesOn& goes_on) {
  emulation::run(dim3(2), kKernelThreads, 0, [&] {
    exchange_packets<Reduces<Bf16Lanes, Sum>, WithoutNumbers>(table.exchange, goes_on);
  });
}

// The places in which a call finds its packets are clear before: those of the call before the last
// one are not.
TEST(PacketsWithoutNumbers, AreAddedUpAndCleared) {
  for (const auto& [ranks, rank, elements] :
       {std::tuple{2u, 0u, 1u}, std::tuple{2u, 1u, 999u}, std::tuple{2u, 0u, 30004u},
        std::tuple{3u, 1u, 999u}, std::tuple{9u, 7u, 5000u}}) {
    LoopedBack one(ranks, rank, elements);
    for (std::uint64_t call = 1; call <= 7; ++call) {
      EXPECT_TRUE(one.is_clear(call % 3)) << "call " << call;
      one.fill(call);
      add_up(one.table, NeverEnds{});
      for (std::size_t i = 0; i < elements; ++i)
        ASSERT_EQ(one.result(i), rounded(one.sum(i))) << i << " of call " << call;
      EXPECT_FALSE(one.is_clear(call % 3)) << "call " << call;
    }
  }
}

TEST(PacketsWithoutNumbers, AreAwaited) {
  LoopedBack one(3, 1, 999);
  one.fill(1);
  auto& silent = one.table.exchange.peers[1];
  std::vector<std::uint64_t> elsewhere(packet_buffer_bytes(2 * 999) / 8);
  silent.from = LoopedBack::bytes_of(elsewhere);
  add_up(one.table, EndsAtOnce{});
  for (std::size_t i = 0; i < 999; ++i) ASSERT_EQ(one.result(i), 0.0F) << i;
}

template <typename Format>
class NormalisedPackets : public ::testing::Test {};
using Formats = ::testing::Types<WithNumbers, WithoutNumbers>;
TYPED_TEST_SUITE(NormalisedPackets, Formats);

TYPED_TEST(NormalisedPackets, AreRowsOfUnitMeanSquare) {
  constexpr std::uint32_t kRows = 3, kColumns = 5004;  // more than one unit a thread
  constexpr std::size_t kElements = kRows * kColumns;
  constexpr bool kNumbered = std::is_same_v<TypeParam, WithNumbers>;
  for (const std::uint32_t ranks : {2u, 4u}) {
    LoopedBack one(ranks, 1, kElements);
    one.table.exchange.turn = gpu::turn_bytes(2 * kElements, kNumbered);
    std::vector<std::uint64_t> residual(kElements / 4), updated(kElements / 4),
        weight(kColumns / 4);
    for (std::size_t i = 0; i < kElements; ++i) LoopedBack::put(residual, i, 0x3f80);  // 1
    for (std::size_t i = 0; i < kColumns; ++i) LoopedBack::put(weight, i, 0x4000);     // 2
    one.table.norm = {LoopedBack::bytes_of(residual),
                      LoopedBack::bytes_of(updated),
                      LoopedBack::bytes_of(weight),
                      one.table.exchange.result,
                      kColumns / 4,
                      kRows,
                      1,
                      kColumns,
                      1e-5F};
    for (std::uint64_t call = 1; call <= 4; ++call) {
      EXPECT_TRUE(kNumbered || one.is_clear(call % 3)) << "call " << call;
      one.fill(call);
      emulation::run(dim3(2), kKernelThreads, 0,
                     [&] { exchange_and_normalise<Bf16Lanes, TypeParam>(one.table, NeverEnds{}); });
      for (std::uint32_t row = 0; row < kRows; ++row) {
        double squares = 0;
        for (std::size_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
          const float h = LoopedBack::at(updated, i);
          ASSERT_EQ(h, rounded(1 + one.sum(i))) << i << " of call " << call;
          squares += static_cast<double>(h) * static_cast<double>(h);
        }
        const double scale = 2 / std::sqrt(squares / kColumns + 1e-5);
        for (std::size_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
          const double expected = static_cast<double>(LoopedBack::at(updated, i)) * scale;
          ASSERT_NEAR(static_cast<double>(one.result(i)), expected, std::abs(expected) / 200)
              << i << " of call " << call;
        }
      }
    }
  }
}

TEST(ChunkNumbers, AreComparedInACircle) {
  EXPECT_TRUE(has_come(7, 7));
  EXPECT_FALSE(has_come(6, 7));
  EXPECT_TRUE(has_come(1, 0xffffffff));
  EXPECT_FALSE(has_come(0xffffffff, 1));
}

}  // namespace
}  // namespace duet::DUET_GPU
