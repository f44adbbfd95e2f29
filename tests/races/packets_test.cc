// Calls of several ranks by packets, with a CPU's thread for each rank, whose kernels have one
// block.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <future>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/random.h"
#include "device/gpu/packet_exchange.h"

namespace duet::DUET_GPU {
namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::size_t kElements = 10, kBytes = 4 * kElements;  // of fp32: five units
constexpr int kCalls = 60;
constexpr std::chrono::seconds kDeadline{60};

// Never 0, and different for each call and rank.
float element(int call, std::uint32_t rank, std::size_t i) {
  return static_cast<float>(10000 * (call + 1) + 1000 * static_cast<int>(rank)) +
         static_cast<float>(i);
}

struct RankOfPackets {
  alignas(16) std::array<std::array<unsigned char, packet_buffer_bytes(kBytes)>, kRanks> buffers{};
  alignas(8) std::array<float, kElements> sent{}, result{};
  std::uint32_t last = 0;
};

template <typename Format>
class PacketsOfRanks : public ::testing::Test {
 protected:
  PacketsOfRanks() : ranks_(kRanks) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      RankOfPackets& own = ranks_[rank];
      gpu::PacketTable& of = tables_.emplace_back();
      of.own = bytes_of(own.sent.data());
      of.result = bytes_of(own.result.data());
      of.last = &own.last;
      of.bytes = kBytes;
      of.turn = gpu::turn_bytes(kBytes, std::is_same_v<Format, WithNumbers>);
      of.rank = rank;
      of.divisor = 1;
      of.places = 1;
      of.aligned = 1;
      for (std::uint32_t peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        of.peers[of.count++] = {of.own, ranks_[peer].buffers[rank].data(), own.buffers[peer].data(),
                                nullptr};
      }
    }
  }

  // All calls of a rank, as launches of a stream: each behind the one before. Some are late.
  void run(std::uint32_t rank) {
    RankOfPackets& own = ranks_[rank];
    for (int call = 0; call < kCalls; ++call) {
      for (std::size_t i = 0; i < kElements; ++i) own.sent[i] = element(call, rank, i);
      delay(rank, call);
      exchange_packets<Reduces<Fp32Lanes, Sum>, Format>(tables_[rank], still_);
      for (std::size_t i = 0; i < kElements; ++i) {
        float sum = 0;
        for (std::uint32_t from = 0; from < kRanks; ++from) sum += element(call, from, i);
        EXPECT_EQ(own.result[i], sum)
            << "element " << i << " of rank " << rank << ", call " << call;
      }
    }
  }

 private:
  struct InTime {
    std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + kDeadline;
    template <typename Missing>
    bool operator()(const Missing&) const {
      const bool goes_on = std::chrono::steady_clock::now() < end;
      EXPECT_TRUE(goes_on) << "a block waits for packets";
      return goes_on;
    }
  };

  template <typename Value>
  static unsigned char* bytes_of(Value* data) {
    return reinterpret_cast<unsigned char*>(data);
  }
  static void delay(std::uint32_t rank, int call) {
    const std::uint64_t drawn = random_word(rank, static_cast<std::uint64_t>(call));
    if (drawn % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(drawn % 3000));
  }

  std::vector<RankOfPackets> ranks_;
  std::vector<gpu::PacketTable> tables_;
  InTime still_;
};

using Formats = ::testing::Types<WithNumbers, WithoutNumbers>;
TYPED_TEST_SUITE(PacketsOfRanks, Formats);

TYPED_TEST(PacketsOfRanks, KeepCallsApart) {
  std::vector<std::future<void>> ranks;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    ranks.push_back(std::async(std::launch::async, [this, rank] { this->run(rank); }));
  for (std::future<void>& each : ranks) each.get();
}

}  // namespace
}  // namespace duet::DUET_GPU
