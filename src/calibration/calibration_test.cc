// From the evidence that a known platform would give, calibrate() must derive its figures.
#include "calibration/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "core/error.h"

namespace duet {
namespace {

std::optional<double> found(const std::vector<CalibratedFigure>& figures, const std::string& key) {
  for (const CalibratedFigure& each : figures) {
    if (each.key == key) return each.value;
  }
  return std::nullopt;
}

class Calibrated : public ::testing::Test {
 protected:
  Calibrated() {
    evidence_.devices = base_.devices;
    evidence_.compute_units = base_.device.compute_units;
  }

  const sim::Platform base_ = sim::load_platform("h200-4");
  Evidence evidence_;
};

// 32 x 64 tiles on 132 units are 16 waves; at half of the peak a tile of 128 x 256 x 8192 takes
// 2 x 128 x 256 x 8192 / (989.4e12 / 132 / 2) s, and 1 us more; the launch takes 4 us.
TEST_F(Calibrated, EfficiencyFromWholeWaves) {
  const double tile = 2.0 * 128 * 256 * 8192 / (989.4e12 / 132 / 2) + 1e-6;
  evidence_.gemms = {{{8192, 8192, 8192}, 0, 16 * tile + 4e-6, 0}, {{8192, 8192, 8192}, 100, 1, 0}};
  EXPECT_EQ(found(calibrate(base_, evidence_), "device.gemm.efficiency.bf16"), 0.5);
}

TEST_F(Calibrated, AClockThatRisesWithFewerUnitsIsAThrottledOne) {
  const auto frequency = [&](double exponent) {
    evidence_.full_megahertz = 2000;
    evidence_.gemms = {{{8192, 8192, 8192}, 0, 1e-3, 1500},
                       {{8192, 8192, 8192}, 100, 1e-3 * std::pow(1.32, exponent), 1700}};
    return found(calibrate(base_, evidence_), "device.power.gemm_frequency");
  };
  EXPECT_EQ(frequency(0.63), 0.75);
  EXPECT_EQ(frequency(1.0), 1);
}

TEST_F(Calibrated, PowerIsWhatTheCapLeaves) {
  evidence_.cap_watts = 700;
  evidence_.idle_watts = 124;
  evidence_.dma_joules = 0.45e-9;
  const auto figures = calibrate(base_, evidence_);
  EXPECT_EQ(found(figures, "device.power.watts"), 576);
  EXPECT_EQ(found(figures, "device.power.dma_joules_per_gb"), 0.45);
  EXPECT_EQ(found(figures, "device.power.kernel_joules_per_gb"), std::nullopt);
}

// 300 GB/s after 100 us: a share of the link's 400 and a ramp of 30 MB.
TEST_F(Calibrated, TheLibrarysLineGivesItsShareAndRamp) {
  evidence_.copies = {{"peer", "kernel", "push", 1u << 30, (1u << 30) / 400e9}};
  for (const double gib : {1.0, 4.0, 16.0}) {
    const double bytes = gib * (1u << 30);
    evidence_.collectives.push_back({CollectiveKind::all_gather, "nccl",
                                     static_cast<std::uint64_t>(bytes), 4, 0,
                                     100e-6 + bytes * 0.75 / 300e9});
  }
  evidence_.collectives.push_back(
      {CollectiveKind::all_gather, "nccl", 1u << 30, 4, 8, (1u << 30) * 0.75 / 150e9});
  const auto figures = calibrate(base_, evidence_);
  EXPECT_EQ(found(figures, "link.kernel_push_gb_per_s"), 400);
  EXPECT_EQ(found(figures, "library.link_share"), 0.75);
  EXPECT_EQ(found(figures, "library.ramp_mib"), 28.6);                       // 100 us x 300 GB/s
  EXPECT_EQ(found(figures, "library.all_gather.unit_copy_gb_per_s"), 15.6);  // 150 x 5/6 / 8
}

TEST_F(Calibrated, RefusesAnotherMachine) {
  evidence_.devices = 8;
  EXPECT_THROW(calibrate(base_, evidence_), UsageError);
}

std::vector<JournalRun> journal_of(const std::string& model) {
  DeviceInfo device;
  device.model = model;
  device.compute_units = 132;
  device.details = {{"maximum compute clock", "1980 MHz"}};
  Environment environment;
  environment.machines = {{"cuda", false, {device}, {}}};
  return {{environment, {}}};
}

TEST(Evidence, IsOfOneMachine) {
  Evidence evidence;
  add_evidence(evidence, "one.jsonl", journal_of("NVIDIA H200"));
  EXPECT_EQ(evidence.full_megahertz, 1980);
  EXPECT_EQ(evidence.devices, 1);
  EXPECT_THROW(add_evidence(evidence, "other.jsonl", journal_of("NVIDIA H100")), UsageError);
}

}  // namespace
}  // namespace duet
