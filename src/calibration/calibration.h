// A simulated platform's figures from isolated measurements of the machine that it stands for.
// Works beside each other are for predictions to be held against, and are not looked at.
#pragma once

#include <string>
#include <vector>

#include "calibration/evidence.h"
#include "device/sim/platform.h"

namespace duet {

struct CalibratedFigure {
  std::string key;   // as sim::PlatformText has it
  double value = 0;  // in the platform file's unit, rounded to three digits
  std::string from;  // "7 GEMMs on all units"
};

// What the evidence tells; of the other figures the base's stay. Each follows from the model of
// docs/simulation.md, solved for the figure:
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
