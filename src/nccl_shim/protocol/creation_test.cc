#include "nccl_shim/protocol/creation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using host::HostShimDevice;

// Both ranks of one thread, step by step, as of a group. The reasons of both, or "" where they
// agree.
std::pair<std::string, std::string> reasons(HostShimDevice& first, std::uint64_t first_settings,
                                            HostShimDevice& second, std::uint64_t second_settings) {
  const std::string name = testing::unused_name();
  Creation one(first, name, 0, 2, first_settings), two(second, name, 1, 2, second_settings);
  Creation* both[] = {&one, &two};
  const bool alike = one.all_announced();
  EXPECT_EQ(two.all_announced(), alike);
  if (!alike) return {one.reason(), two.reason()};
  for (Creation* each : both) each->offer();
  for (Creation* each : both) each->try_peers(10);
  for (Creation* each : both) each->map_slots(10);
  for (Creation* each : both) EXPECT_EQ(each->finish(10) != nullptr, each->reason().empty());
  EXPECT_FALSE(testing::has_shared_memory());
  return {one.reason(), two.reason()};
}

TEST(CreationTest, RanksOfOneThreadAgree) {
  HostShimDevice first(1), second(2);
  EXPECT_EQ(reasons(first, 7, second, 7), std::make_pair(std::string(), std::string()));
}

TEST(CreationTest, SettingsDiffer) {
  HostShimDevice first(1), second(2);
  const auto [one, two] = reasons(first, 7, second, 8);
  EXPECT_EQ(one, "ranks have different settings (DUET_NCCL_...)");
  EXPECT_EQ(two, one);
}

TEST(CreationTest, TwoRanksOnOneDevice) {
  HostShimDevice first(1), second(1);
  EXPECT_EQ(reasons(first, 7, second, 7).first, "two ranks have one device");
}

// Its memory cannot be lent.
class PoorDevice : public HostShimDevice {
 public:
  using HostShimDevice::HostShimDevice;
  ExportedMemory export_memory(const Allocation&) override { throw Unavailable("no export"); }
};

TEST(CreationTest, WhatOneRankCannotNoneDoes) {
  HostShimDevice first(1);
  PoorDevice second(2);
  const auto [one, two] = reasons(first, 7, second, 7);
  EXPECT_EQ(one, "memory of rank 1: it cannot lend any");
  EXPECT_EQ(two, "no export");
}

class CopiesOnly : public HostShimDevice {
 public:
  using HostShimDevice::HostShimDevice;
  bool can_reduce() override { return false; }
};

TEST(CreationTest, NoneReducesWhereOneDeviceCannot) {
  HostShimDevice first(1);
  CopiesOnly second(2);
  const std::string name = testing::unused_name();
  Creation one(first, name, 0, 2, 7, {1024, true}), two(second, name, 1, 2, 7, {1024, true});
  Creation* both[] = {&one, &two};
  for (Creation* each : both) each->offer();
  for (Creation* each : both) each->try_peers(10);
  for (Creation* each : both) each->map_slots(10);
  for (Creation* each : both) EXPECT_FALSE(each->finish(10)->can_reduce());
}

TEST(CreationTest, ARankThatIsMissing) {
  HostShimDevice device(1);
  {
    Creation only(device, testing::unused_name(), 0, 2, 7);
    EXPECT_TRUE(testing::has_shared_memory());
    EXPECT_FALSE(only.all_announced());
  }
  EXPECT_FALSE(testing::has_shared_memory());
}

TEST(CreationTest, AWaitForARankHasADeadline) {
  HostShimDevice first(1), second(2);
  const std::string name = testing::unused_name();
  Creation one(first, name, 0, 2, 7);
  EXPECT_THROW(one.wait_announced(0.02), Timeout);
  Creation two(second, name, 1, 2, 7);
  EXPECT_TRUE(one.all_announced());
  one.offer();
  EXPECT_THROW(one.try_peers(0.02), Timeout);  // rank 1 offers nothing
}

// On one rank its creation goes on when another one does.
TEST(CreationTest, WhatOneRankCreatesTogetherWithOthers) {
  HostShimDevice first(1), second(2);
  const std::string name = testing::unused_name();
  Creation one(first, name, 0, 2, 7), two(second, name, 1, 2, 7);
  one.set_together(5);
  EXPECT_FALSE(two.all_announced());
  EXPECT_FALSE(one.all_announced());
  EXPECT_EQ(two.reason(), "not all ranks create it together with the same others");
  two.set_together(5);
  EXPECT_TRUE(one.all_announced());
  EXPECT_TRUE(two.all_announced());
}

TEST(CreationTest, ARankThatRefusesIsNotWaitedFor) {
  testing::on_threads({2, 0, 0}, [](testing::TestRank& rank) {
    constexpr std::uint64_t kPart = 77;
    if (rank.rank == 1) {
      for (std::uint64_t other = 1; other < 50; ++other) rank.copies->refuse_part(1000 + other);
      rank.copies->refuse_part(kPart);
      return;
    }
    HostShimDevice device(1);
    const Creation only(device, testing::unused_name(), 0, 2, 7);
    EXPECT_FALSE(only.wait_announced(20, [&] { return rank.copies->is_part_refused(kPart); }));
    EXPECT_FALSE(rank.copies->is_part_refused(kPart + 1));
  });
}

TEST(CreationTest, ARankThatDiesBeforeAllAgreeIsNotWaitedFor) {
  const std::string name = testing::unused_name();
  const int other = fork();
  if (other == 0) {
    HostShimDevice device(2);
    Creation creation(device, name, 1, 2, 7);
    creation.wait_announced(60);
    creation.offer();
    _exit(0);
  }
  HostShimDevice device(1);
  Creation creation(device, name, 0, 2, 7);
  creation.wait_announced(60);
  creation.offer();
  EXPECT_EQ(testing::end_of(other), 0);
  const double begin = steady_now();
  // Its memory cannot be mapped, but whether it could only the next step tells all ranks.
  creation.try_peers(60);
  EXPECT_THROW(creation.map_slots(60), PeerFailed);
  EXPECT_LT(steady_now() - begin, 30);
}

TEST(CreationTest, WhatOneRankHasGivenUpNoneDoes) {
  HostShimDevice first(1), second(2);
  const std::string name = testing::unused_name();
  Creation two(second, name, 1, 2, 7);
  {
    Creation one(first, name, 0, 2, 7);
    one.offer();
    one.give_up();
    EXPECT_THROW(one.try_peers(10), PeerFailed);
  }
  two.offer();
  two.try_peers(10);
  two.map_slots(10);
  EXPECT_EQ(two.finish(10), nullptr);
  EXPECT_EQ(two.reason(), "memory of rank 0: it cannot lend any");
}

// The others may have seen that all have agreed.
TEST(CreationTest, ARankThatHasAgreedAndEndsBreaksTheCommunicator) {
  HostShimDevice first(1), second(2);
  const std::string name = testing::unused_name();
  Creation two(second, name, 1, 2, 7);
  {
    Creation one(first, name, 0, 2, 7);
    Creation* const both[] = {&one, &two};
    for (Creation* each : both) each->offer();
    for (Creation* each : both) each->try_peers(10);
    one.map_slots(10);
    one.give_up();
    EXPECT_THROW(one.finish(10), PeerFailed);
  }
  two.map_slots(10);
  const std::unique_ptr<PairCopies> copies = two.finish(10);
  ASSERT_NE(copies, nullptr);
  copies->watch();
  EXPECT_EQ(copies->error(), "another rank has failed or aborted");
}

TEST(CreationTest, MoreRanksThanThereIsRoomFor) {
  HostShimDevice device(1);
  EXPECT_THROW(Creation(device, testing::unused_name(), 0, kMostRanks + 1, 7), Unavailable);
}

}  // namespace
}  // namespace duet::nccl_shim
