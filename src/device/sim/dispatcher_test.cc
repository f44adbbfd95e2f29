// When the blocks of kernels behind a kernel that fills the device start. The device has 8 units,
// and each workgroup of the GEMM and each block takes a second.
#include "device/sim/dispatcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace duet::sim {
namespace {

constexpr int kUnits = 8;

class Dispatched : public ::testing::Test {
 protected:
  void open(DispatchOrder order, int grain = 1) {
    pool_ = clock_.add_resource(kUnits);
    DeviceModel model;
    model.compute_units = kUnits;
    model.unit_grain = grain;
    model.dispatch = order;
    dispatcher_.emplace(clock_, model);
  }

  Dispatcher::Id gemm(double workgroups, double* end) {
    Flow flow;
    flow.amount = workgroups;
    flow.occupancy = {pool_, std::min<double>(kUnits, workgroups), 1, workgroups};
    return dispatcher_->start(flow, [this, end] { *end = clock_.now(); });
  }

  // Starts a kernel of `count` blocks, each of which takes a second.
  Dispatcher::Id blocks(int count, double* end, int priority = 0) {
    Flow flow;
    flow.amount = count;
    flow.priority = priority;
    flow.occupancy = {pool_, static_cast<double>(count), 1, 0};
    return dispatcher_->start(flow, [this, end] { *end = clock_.now(); });
  }

  void run() {
    while (clock_.step()) {
    }
  }

  VirtualClock clock_;
  int pool_ = 0;
  std::optional<Dispatcher> dispatcher_;
  double gemm_ = 0, blocks_ = 0;
};

TEST_F(Dispatched, AloneStartsAtOnce) {
  open(DispatchOrder::in_order);
  blocks(4, &blocks_);
  run();
  EXPECT_DOUBLE_EQ(blocks_, 1);
}

TEST_F(Dispatched, InOrderBlocksWaitForTheEndOfEvenWaves) {
  open(DispatchOrder::in_order);
  gemm(40, &gemm_);
  blocks(4, &blocks_);
  run();
  EXPECT_DOUBLE_EQ(gemm_, 5);
  EXPECT_DOUBLE_EQ(blocks_, 6);
}

// 36 workgroups run in five waves. The last wave has four workgroups and leaves four units free.
TEST_F(Dispatched, InOrderBlocksStartBesideTheLastWave) {
  open(DispatchOrder::in_order);
  gemm(36, &gemm_);
  blocks(4, &blocks_);
  run();
  EXPECT_DOUBLE_EQ(blocks_, 5);
}

TEST_F(Dispatched, InOrderTheBlocksThatFitStartBesideTheLastWaveAndTheRestAfterIt) {
  open(DispatchOrder::in_order);
  gemm(36, &gemm_);
  blocks(6, &blocks_);
  run();
  EXPECT_DOUBLE_EQ(blocks_, gemm_ + 1);
}

// Eight workgroups run and 32 wait. The block starts when half of these have been dispatched.
TEST_F(Dispatched, MixedBlocksAreSpreadOverWhatWaits) {
  open(DispatchOrder::mixed);
  gemm(40, &gemm_);
  blocks(1, &blocks_);
  run();
  EXPECT_DOUBLE_EQ(blocks_, 3);
}

TEST_F(Dispatched, MixedTheLastBlockComesNearTheEnd) {
  open(DispatchOrder::mixed);
  gemm(40, &gemm_);
  blocks(4, &blocks_);
  run();
  EXPECT_GT(blocks_, 4);
  EXPECT_LT(blocks_, 5);
}

TEST_F(Dispatched, GroupsAreOfTheGrain) {
  open(DispatchOrder::mixed, 4);
  gemm(40, &gemm_);
  blocks(4, &blocks_);  // one group, which starts when the single block above does
  run();
  EXPECT_DOUBLE_EQ(blocks_, 3);
}

TEST_F(Dispatched, AHigherPriorityDoesNotWait) {
  open(DispatchOrder::in_order);
  gemm(40, &gemm_);
  blocks(4, &blocks_, 1);
  run();
  EXPECT_DOUBLE_EQ(blocks_, 1);
  EXPECT_GT(gemm_, 5);
}

TEST_F(Dispatched, WhatLeavesUnitsFreeIsNotWaitedFor) {
  open(DispatchOrder::in_order);
  gemm(4, &gemm_);
  blocks(4, &blocks_);
  run();
  EXPECT_DOUBLE_EQ(blocks_, 1);
}

TEST_F(Dispatched, AGemmBehindAGemmWaitsInOrderAndSharesWhenMixed) {
  double second = 0;
  open(DispatchOrder::in_order);
  gemm(40, &gemm_);
  gemm(40, &second);
  run();
  EXPECT_DOUBLE_EQ(gemm_, 5);
  EXPECT_DOUBLE_EQ(second, 10);
  open(DispatchOrder::mixed);
  const double begin = clock_.now();
  gemm(40, &gemm_);
  gemm(40, &second);
  run();
  EXPECT_DOUBLE_EQ(gemm_ - begin, 10);
  EXPECT_DOUBLE_EQ(second - begin, 10);
}

TEST_F(Dispatched, WhatWaitsStartsWhenTheOneBeforeIsCancelled) {
  open(DispatchOrder::in_order);
  const Dispatcher::Id first = gemm(40, &gemm_);
  blocks(4, &blocks_);
  clock_.after(2, [&] { dispatcher_->cancel(first); });
  run();
  EXPECT_DOUBLE_EQ(blocks_, 3);
  EXPECT_EQ(gemm_, 0);
}

TEST_F(Dispatched, WhatIsCancelledWhileItWaitsNeverRuns) {
  open(DispatchOrder::mixed);
  gemm(40, &gemm_);
  const Dispatcher::Id second = blocks(4, &blocks_);
  clock_.after(2, [&] { dispatcher_->cancel(second); });
  run();
  EXPECT_EQ(blocks_, 0);
  EXPECT_NEAR(gemm_, 5, 0.3);  // blocks that had started held units for a while
}

}  // namespace
}  // namespace duet::sim
