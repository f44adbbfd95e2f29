// Derives the figures of a simulated platform from isolated measurements of the real machine.
// Measurements of concurrent works are not used: they test the platform's predictions.
#pragma once

#include <string>
#include <vector>

#include "calibration/evidence.h"
#include "device/sim/platform.h"

namespace duet {

struct CalibratedFigure {
  std::string key;   // the key in sim::PlatformText
  double value = 0;  // in the platform file's unit, rounded to three digits
  std::string from;  // "7 GEMMs on all units"
};

// Returns the figures that follow from the evidence; for all others the base's remain. Each is the
// solution of the model of docs/simulation.md for the figure:
// - gemm.efficiency: the median over GEMMs on all units of the share of the peak at which whole
//   waves of tiles take the time that was measured;
// - power.watts, gemm_frequency: what the cap leaves above idle, and the clock under those GEMMs,
//   where fewer units were found to cost less than their share; else the clock is a full one;
// - power.*_joules_per_gb: as measured;
// - link.*: the best rate of a copy between two devices;
// - memory_efficiency: the best local copy;
// - library: the line through its times over bytes (weighted by 1 / time^2) gives its limit and its
//   ramp; grants below nine tenths of the limit what a unit copies; the smallest size its latency.
// Throws UsageError where the evidence is of another number of devices or units than the base.
std::vector<CalibratedFigure> calibrate(const sim::Platform& base, const Evidence& evidence);

}  // namespace duet
