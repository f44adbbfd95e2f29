#include "collectives/mpi/staging.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/machine.h"

namespace duet::mpi {
namespace {

class StagingTest : public ::testing::Test {
 protected:
  std::unique_ptr<Machine> machine_ = open_machine("host");
  Device& device_ = machine_->device(0);
  std::unique_ptr<Stream> stream_ = device_.make_stream();
  Buffer memory_ = device_.allocate(64);
};

TEST_F(StagingTest, DirectIsTheBuffersThemselves) {
  const CollectiveBuffers buffers{memory_.slice(0, 16), memory_.slice(16, 16)};
  const Staging staging(device_, {}, buffers, true);
  EXPECT_EQ(staging.send(), buffers.send.data);
  EXPECT_EQ(staging.recv(), buffers.recv.data);
}

TEST_F(StagingTest, BringsInAndOut) {
  std::memset(memory_.span().data, 1, 16);
  const Staging staging(device_, {}, {memory_.slice(0, 16), memory_.slice(16, 16)}, false);
  staging.bring_in(*stream_);
  stream_->synchronize(10);
  EXPECT_NE(staging.send(), memory_.span().data);
  EXPECT_EQ(staging.send()[15], std::byte{1});
  std::memset(staging.recv(), 2, 16);
  staging.bring_out(*stream_);
  stream_->synchronize(10);
  EXPECT_EQ(memory_.span().data[16], std::byte{2});
  EXPECT_EQ(memory_.span().data[31], std::byte{2});
}

TEST_F(StagingTest, InPlaceStaysInPlace) {
  const Staging gathering(device_, {}, {memory_.slice(16, 16), memory_.slice(0, 64)}, false);
  EXPECT_EQ(gathering.send(), gathering.recv() + 16);
  const Staging scattering(device_, {}, {memory_.slice(0, 64), memory_.slice(32, 16)}, false);
  EXPECT_EQ(scattering.recv(), scattering.send() + 32);
}

// Of a field of 48 bytes with a halo: what is sent and received, of 8 bytes each, and no more.
TEST_F(StagingTest, OfNeighborsOnlyTheirChunks) {
  Collective exchange;
  exchange.kind = CollectiveKind::neighbor_exchange;
  exchange.dtype = DType::int8;
  exchange.count = 8;
  exchange.counts = {48};
  for (int i = 0; i < 64; ++i) memory_.span().data[i] = static_cast<std::byte>(i);
  const Staging staging(device_, exchange, {memory_.slice(8, 48), memory_.span()}, false);
  EXPECT_EQ(send_bytes(staging.collective(), 0, 1), 16u);
  staging.bring_in(*stream_);
  stream_->synchronize(10);
  EXPECT_EQ(staging.send()[0], std::byte{8});
  EXPECT_EQ(staging.send()[15], std::byte{55});
  std::memset(staging.recv(), 100, 32);
  staging.bring_out(*stream_);
  stream_->synchronize(10);
  EXPECT_EQ(memory_.span().data[7], std::byte{100});
  EXPECT_EQ(memory_.span().data[8], std::byte{8});
  EXPECT_EQ(memory_.span().data[55], std::byte{55});
  EXPECT_EQ(memory_.span().data[56], std::byte{100});
}

TEST_F(StagingTest, WhatIsAbsentStaysAbsent) {
  const Staging staging(device_, {}, {{}, memory_.slice(0, 16)}, false);
  EXPECT_NO_THROW(staging.bring_in(*stream_));
  const Staging other(device_, {}, {memory_.slice(0, 16), {}}, false);
  EXPECT_NO_THROW(other.bring_out(*stream_));
}

}  // namespace
}  // namespace duet::mpi
