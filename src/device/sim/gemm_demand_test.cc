// How a simulated library divides a GEMM among workgroups.
#include "device/sim/sim_fixture.h"

namespace duet::sim {
namespace {

constexpr double kGemmUnits = 100;

// A tile of 128 x 256 takes a second for each element of K.
DeviceModel gemm_device() {
  DeviceModel device;
  device.compute_units = static_cast<int>(kGemmUnits);
  device.memory_rate = 1e15;
  device.memory_efficiency = 1;
  device.peak[DType::bf16] = kGemmUnits * 2 * 128 * 256;
  device.gemm.tile_m = 128;
  device.gemm.tile_n = 256;
  device.gemm.efficiency[DType::bf16] = 1;
  return device;
}

GemmSize gemm_size(double m, double n, double k) {
  GemmSize size;
  size.m = m;
  size.n = n;
  size.k = k;
  size.dtype = DType::bf16;
  size.memory_bytes = 2 * (m * k + k * n + m * n);
  return size;
}

TEST(GemmDemand, TakesSmallerTilesWhereTheyFillTheUnits) {
  DeviceModel device = gemm_device();
  const GemmSize few = gemm_size(4 * 128, 15 * 256, 64);
  EXPECT_EQ(gemm_demand(device, few).workgroups, 60);
  device.gemm.other_tiles = {{64, 128, 0.9}};
  const Demand demand = gemm_demand(device, few);
  EXPECT_EQ(demand.workgroups, 240);  // three waves of a quarter of the time each, at 0.9
  EXPECT_NEAR(demand.efficiency, 0.9, 1e-9);
}

TEST(GemmDemand, KeepsTheUsualTileWhereItFillsTheUnits) {
  DeviceModel device = gemm_device();
  device.gemm.other_tiles = {{64, 128, 0.9}};
  device.gemm.most_splits = 4;
  EXPECT_EQ(gemm_demand(device, gemm_size(10 * 128, 10 * 256, 64)).workgroups, 100);
}

// Each of four parts writes and reads its sums in fp32.
TEST(GemmDemand, SplitsKWhereUnitsAreLeft) {
  DeviceModel device = gemm_device();
  device.gemm.most_splits = 4;
  const GemmSize few = gemm_size(5 * 128, 5 * 256, 6400);
  const Demand demand = gemm_demand(device, few);
  EXPECT_EQ(demand.workgroups, 100);
  EXPECT_DOUBLE_EQ(demand.memory_bytes, few.memory_bytes + 4 * 8 * few.m * few.n);
  device.memory_rate = 1e3;  // too slow for that
  EXPECT_EQ(gemm_demand(device, few).workgroups, 25);
}

// 30 products of 5 tiles: two waves together, where one after the other they take 30. Rows that
// fill no whole tile count as one.
TEST(GemmDemand, GroupsFillTheUnitsTogether) {
  const DeviceModel device = gemm_device();
  const std::vector<GemmSize> groups(30, gemm_size(128, 5 * 256, 64));
  const Demand demand = grouped_gemm_demand(device, groups);
  EXPECT_EQ(demand.workgroups, 150);
  EXPECT_DOUBLE_EQ(demand.flop, 30 * 2.0 * 128 * 5 * 256 * 64);
  EXPECT_DOUBLE_EQ(demand.memory_bytes, 30 * groups.front().memory_bytes);
  EXPECT_NEAR(demand.efficiency, 1, 1e-9);
  const Demand thin = grouped_gemm_demand(device, {gemm_size(32, 256, 64), gemm_size(32, 256, 64)});
  EXPECT_EQ(thin.workgroups, 2);
  EXPECT_NEAR(thin.efficiency, 0.25, 1e-9);
}

TEST(GemmDemand, HasTheTrafficOfAStudyOnlyWhereItIsGiven) {
  const DeviceModel device = load_platform("mi300x-8").device;
  GemmSize shape = gemm_size(8192, 57344, 8192);
  const GemmSize neighbour = gemm_size(8192, 57216, 8192);
  const auto traffic = [&](const GemmSize& size) {
    return gemm_demand(device, size).memory_bytes / size.memory_bytes;
  };
  EXPECT_NEAR(traffic(shape), traffic(neighbour), 0.01);
  shape.traffic = 57;
  EXPECT_DOUBLE_EQ(traffic(shape), 57);
}

}  // namespace
}  // namespace duet::sim
