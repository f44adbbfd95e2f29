// Buffers in segments: of one to many, shared and remapped.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using host_vmm::kGranule;
using testing::expect_ends;
using testing::on_processes;
using testing::on_threads;
using testing::Setting;
using testing::TestRank;

constexpr std::size_t kSegments = 12;

// Addresses of a rank with segments of a granule each.
class Memory {
 public:
  explicit Memory(TestRank& rank, std::uintptr_t wanted = 0)
      : memory_(rank.device.own_segments), base_(host_vmm::reserve(kSegments * kGranule, wanted)) {
    for (std::size_t i = 0; i < kSegments; ++i) memory_.map_new(segment(i), kGranule);
  }
  ~Memory() {
    for (std::size_t i = 0; i < kSegments; ++i) memory_.unmap(segment(i), kGranule);
    memory_.unreserve(base_, kSegments * kGranule);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void remap(std::size_t index) {
    memory_.unmap(segment(index), kGranule);
    memory_.map_new(segment(index), kGranule);
  }
  void give_access(int device) {
    for (std::size_t i = 0; i < kSegments; ++i) {
      host_vmm::set_access(segment(i), kGranule, device);
    }
  }
  unsigned char* at(std::size_t offset) const {
    return reinterpret_cast<unsigned char*>(base_) + offset;
  }

 private:
  char* segment(std::size_t index) const { return base_ + index * kGranule; }

  testing::TestSegments& memory_;
  char* base_;
};

void gather(TestRank& rank, unsigned char* send, unsigned char* receive, std::size_t bytes,
            int value) {
  std::memset(send, value + rank.rank, bytes);
  rank.copies->enqueue({Kind::all_gather, send, receive, bytes}, rank.stream());
  rank.synchronise();
  for (int from = 0; from < rank.ranks; ++from) {
    const unsigned char* part = receive + static_cast<std::size_t>(from) * bytes;
    ASSERT_EQ(part[0], static_cast<unsigned char>(value + from)) << "call " << value;
    ASSERT_EQ(std::memcmp(part, part + 1, bytes - 1), 0) << "call " << value;
  }
}

constexpr std::size_t kOdd = kGranule - 77;

Setting with_segments(int ranks) {
  Setting setting;
  setting.ranks = ranks;
  setting.has_segments = true;
  return setting;
}

void expect_no_staging(TestRank& rank) {
  EXPECT_EQ(rank.copies->why_no_segments(), "");
  rank.device.before_allocate = [] { ADD_FAILURE() << "a staging buffer"; };
}

// Buffers of one to many segments, which they share; border: of two windows of addresses.
void call_with_segments(TestRank& rank, Memory& memory) {
  expect_no_staging(rank);
  for (int number = 0; number < 12; ++number) {
    rank.pause();
    const auto odd = static_cast<std::size_t>(number);
    gather(rank, memory.at(kOdd + 5 * odd), memory.at((2 + odd % 5) * kGranule + 3 * odd + 1),
           number % 3 == 0 ? kGranule + odd : 512 + odd, number);
  }
}

TEST(Segments, OfRanksInOneProcess) {
  Setting setting = with_segments(3);
  setting.device_delay = 50, setting.cpu_delay = 200;
  on_threads(setting, [](TestRank& rank) {
    Memory memory(rank);
    call_with_segments(rank, memory);
  });
}

TEST(Segments, ThatOtherDevicesReachAreNotMapped) {
  on_threads(with_segments(2), [](TestRank& rank) {
    Memory memory(rank);
    memory.give_access(2 - rank.rank);  // devices have the number of their rank and 1
    call_with_segments(rank, memory);
    EXPECT_EQ(rank.device.own_segments.mapped, 2);  // of the test at creation
  });
}

TEST(Segments, OfRanksInTheirOwnProcesses) {
  on_processes(with_segments(2), [](TestRank& rank) {
    Memory memory(rank);
    call_with_segments(rank, memory);
  });
}

TEST(Segments, OfTwoWindowsAreMappedInBoth) {
  Setting setting = with_segments(2);
  setting.wait_per_byte = 1e-4;  // each pushes
  on_processes(setting, [](TestRank& rank) {
    Memory memory(rank, host_vmm::unused_multiple(kMostOfSegments) - 5 * kGranule);
    call_with_segments(rank, memory);
  });
}

// A handle's number is used again as soon as it may be.
TEST(Segments, OtherMemoryAtTheSameAddressIsNotTakenForTheOld) {
  Setting setting = with_segments(2);
  setting.wait_per_byte = 1e-6;  // each pushes, and so maps the other's receive buffers alone
  on_processes(setting, [](TestRank& rank) {
    Memory memory(rank);
    expect_no_staging(rank);
    const std::size_t first = host_vmm::segments();
    for (int number = 0; number < 200; ++number) {
      const std::size_t bytes = number % 2 != 0 ? kGranule : kGranule / 2;
      gather(rank, memory.at(kOdd), memory.at(2 * kGranule + 7), bytes, number);
      if (::testing::Test::HasFailure()) return;
      const auto index = static_cast<std::size_t>(number) % 5;
      memory.remap(index);
      if (number % 3 != rank.rank) continue;
      for (std::size_t i = 0; i < 5; ++i) memory.remap(i);
    }
    EXPECT_LE(host_vmm::segments(), first + 2 * kSegments);
  });
}

TEST(Segments, WhatOneRankCannotMapIsStagedByAll) {
  Setting setting = with_segments(2);
  setting.ranks_without_segments = 1;
  on_processes(setting, [](TestRank& rank) {
    Memory memory(rank);
    gather(rank, memory.at(kOdd), memory.at(3 * kGranule), 4096, 1);
    if (rank.rank == 0) return;
    EXPECT_EQ(rank.copies->why_no_segments(), "segments of rank 0 are not lent");
  });
}

TEST(Segments, OfARankThatHasDiedAreAnError) {
  expect_ends(with_segments(2), {0, SIGKILL}, [](TestRank& rank) {
    Memory memory(rank);
    const Call call{Kind::all_gather, memory.at(kOdd), memory.at(3 * kGranule), 4096};
    if (rank.rank == 1) {
      rank.copies->enqueue(call, rank.stream());
      raise(SIGKILL);
    }
    usleep(300000);
    EXPECT_THROW(rank.copies->enqueue(call, rank.stream()), PeerFailed);
    EXPECT_EQ(rank.copies->error(), "the process of rank 1 has ended");
    rank.copies->abort(30);
    EXPECT_EQ(rank.copies->warning(), "");
  });
}

}  // namespace
}  // namespace duet::nccl_shim
