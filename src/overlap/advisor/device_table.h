// What the advisor knows of a kind of device: times and slowdowns of a few probes, measured once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "overlap/row.h"

namespace duet {

// Times are in seconds; a factor is a time over that with all units of the device.
struct UnitFactor {
  int units = 0;
  double factor = 1;
};

struct GemmEntry {
  GemmProblem problem;
  double seconds = 0;
  std::vector<UnitFactor> taken;  // by rising units that the GEMM was refused
};

struct SizeTime {
  std::uint64_t bytes = 0;  // S of docs/measuring.md
  double seconds = 0;
};

struct CollectiveEntry {
  CollectiveKind collective = CollectiveKind::all_gather;
  std::string engine;
  std::vector<SizeTime> times;      // by rising size: bound by latency, by bandwidth
  std::vector<UnitFactor> granted;  // by rising units,
  std::uint64_t granted_bytes = 0;  // at this size
};

// A GEMM and a collective at once; of a scenario in pieces a piece of each. Alone are G and C_e.
struct BesideEntry {
  OverlapPolicy policy;
  std::string engine;
  GemmProblem compute;
  CollectiveKind collective = CollectiveKind::all_gather;
  std::uint64_t bytes = 0;
  double compute_alone = 0, engine_alone = 0;
  double together = 0;
  double compute_slowdown = 0, communication_slowdown = 0;  // while both are there
};

struct DeviceTable {
  std::string device;  // the model; of a simulated machine its name, "sim:mi300x-8"
  std::string model;   // "NVIDIA H200", of simulated machines too
  int ranks = 0;
  int compute_units = 0;
  std::string vendor;            // the engine that users take by default: C is by it
  std::vector<GemmEntry> gemms;  // one bound by compute, one by memory
  std::vector<CollectiveEntry> collectives;
  std::vector<BesideEntry> besides;
};

// From cases of the benchmarks overlap_isolated and overlap, which tell of pairs and of what their
// sides took alone; others and skipped ones are passed over. A GEMM that was measured on a part of
// the units only has no time, and is left out. Throws Error for a case that lacks what its
// benchmark has.
void add_rows(DeviceTable& table, const std::vector<OverlapRow>& rows);

// The factor for so many units, between the measured ones along a line and outside of them that of
// the nearest; 1 where nothing was measured.
double factor_at(const std::vector<UnitFactor>& factors, int units);

}  // namespace duet
