#include "nccl_shim/protocol/pair_roles.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <random>

#include "core/error.h"
#include "fake_gpu/cuda/host_device.h"

namespace duet::nccl_shim {
namespace {

constexpr double kNoSeconds = 0, kManySeconds = 1000;  // seconds per byte

// Two ranks of this process, whose calls are made here in any order.
class PairRolesTest : public ::testing::Test {
 protected:
  struct Side {
    Side(SharedBlock& shared, int own, double wait_seconds)
        : device(own),
          rank(device, shared, own, 2),
          failure(rank),
          roles(rank, {0, false, false, 0, wait_seconds}, failure) {}

    host::HostShimDevice device;
    OwnRank rank;
    Failure failure;
    PairRoles roles;
  };

  void make_sides(double wait_seconds) {
    for (auto& each : shared->ranks) each.process = getpid();
    for (int rank = 0; rank < 2; ++rank) {
      sides[rank] = std::make_unique<Side>(*shared, rank, wait_seconds);
    }
  }
  BegunCall take(int rank, std::uint64_t number, const Call& call, bool in_group = false) {
    CallRecord& record = shared->records[rank][number % kCallsAhead];
    record.kind = static_cast<std::uint32_t>(call.kind);
    record.root = static_cast<std::uint32_t>(call.root);
    record.bytes = call.bytes;
    BegunCall begun{call, number};
    sides[rank]->roles.take(begun, in_group);
    return begun;
  }
  PairRoles& roles(int rank) { return sides[rank]->roles; }
  void expect_same_counts() {
    for (int rank = 0; rank < 2; ++rank) {
      const auto &mine = roles(rank).mine(1 - rank), &theirs = roles(1 - rank).theirs(rank);
      EXPECT_EQ(mine.ready, theirs.ready);
      EXPECT_EQ(mine.pushed, theirs.pushed);
      EXPECT_EQ(mine.pulled, theirs.pulled);
    }
  }

  const std::unique_ptr<SharedBlock> shared = std::make_unique<SharedBlock>();
  std::unique_ptr<Side> sides[2];
};

const Call kGather{Kind::all_gather, nullptr, nullptr, 64};

TEST_F(PairRolesTest, TheSecondMakesBothCopies) {
  make_sides(kNoSeconds);
  BegunCall first = take(0, 1, kGather);
  roles(0).settle(first);
  BegunCall second = take(1, 1, kGather);
  roles(1).settle(second);
  EXPECT_EQ(first.roles[1], Role::first);
  EXPECT_EQ(second.roles[0], Role::second);
  EXPECT_EQ(roles(1).mine(0).pushed, 1u);
  EXPECT_EQ(roles(1).mine(0).pulled, 1u);
  expect_same_counts();
}

TEST_F(PairRolesTest, WhereTheFirstWaitsEachPushes) {
  make_sides(kManySeconds);
  BegunCall first = take(0, 1, kGather);
  BegunCall second = take(1, 1, kGather);
  roles(0).settle(first);
  roles(1).settle(second);
  EXPECT_EQ(first.roles[1], Role::sharing);
  EXPECT_EQ(second.roles[0], Role::sharing);
  EXPECT_EQ(roles(0).mine(1).pushed, 1u);
  EXPECT_EQ(roles(0).mine(1).pulled, 0u);
  expect_same_counts();
}

TEST_F(PairRolesTest, InAGroupEachPushesAndNobodyWaits) {
  make_sides(kNoSeconds);
  BegunCall first = take(0, 1, kGather, /*in_group=*/true);
  BegunCall second = take(1, 1, kGather, /*in_group=*/true);
  roles(0).settle(first);
  roles(1).settle(second);
  EXPECT_EQ(first.roles[1], Role::sharing);
  EXPECT_EQ(second.roles[0], Role::sharing);
  expect_same_counts();
}

TEST_F(PairRolesTest, NobodyWaitsWhereOneSendsNothing) {
  make_sides(kManySeconds);
  BegunCall first = take(0, 1, {Kind::broadcast, nullptr, nullptr, 64});
  roles(0).settle(first);
  EXPECT_EQ(first.roles[1], Role::first);
}

TEST_F(PairRolesTest, BothCountAlikeWhoeverIsFirst) {
  make_sides(kNoSeconds);
  std::minstd_rand random;
  for (std::uint64_t number = 1; number < 3 * kCallsAhead; ++number) {
    const int first = random() % 2 != 0 ? 1 : 0;
    const Call call{static_cast<Kind>(random() % kKinds), nullptr, nullptr, 64 + random() % 999};
    BegunCall one = take(first, number, call), other = take(1 - first, number, call);
    roles(first).settle(one);
    roles(1 - first).settle(other);
    roles(1 - first).check(other);
  }
  expect_same_counts();
}

TEST_F(PairRolesTest, WhatIsTakenBackIsNotExpected) {
  make_sides(kNoSeconds);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    BegunCall begun = take(0, number, kGather);
    roles(0).settle(begun);
  }
  BegunCall taken = take(1, 1, kGather);
  roles(1).settle(taken);
  EXPECT_EQ(roles(0).revoke_untaken(3)[1].size(), 2u);
  EXPECT_TRUE(roles(0).may_touch(1)) << "the first call's copies";
  shared->words.pairs[1][0].pushed = shared->words.pairs[1][0].pulled = 1;
  roles(0).end_own_waits();
  EXPECT_FALSE(roles(0).may_touch(1));
  EXPECT_FALSE(roles(0).waits_for(1));

  BegunCall revoked = take(1, 2, kGather);
  roles(1).settle(revoked);
  EXPECT_EQ(revoked.roles[0], Role::none);
  EXPECT_THROW(roles(1).check(revoked), PeerFailed);
}

TEST_F(PairRolesTest, WhoComesSecondSeesAnotherCall) {
  make_sides(kNoSeconds);
  BegunCall first = take(0, 1, kGather);
  BegunCall second = take(1, 1, {Kind::all_gather, nullptr, nullptr, 128});
  EXPECT_NO_THROW(roles(0).check(first));
  EXPECT_THROW(roles(1).check(second), BadArgument);
}

}  // namespace
}  // namespace duet::nccl_shim
