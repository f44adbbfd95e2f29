#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "overlap/row.h"

namespace duet {

// The ratio of the time on a part of the device's compute units to the time on all of them.
struct UnitFactor {
  int units = 0;
  double factor = 1;
};

// A GEMM alone: its time on all units, and the factors when some units are withheld.
struct GemmEntry {
  GemmProblem problem;
  double seconds = 0;
  std::vector<UnitFactor> taken;  // by rising number of units that were withheld from the GEMM
};

struct SizeTime {
  std::uint64_t bytes = 0;  // size_bytes() of collective.h
  double seconds = 0;
};

// A collective alone by one engine: its times on all units, and the factors on fewer units.
struct CollectiveEntry {
  CollectiveKind collective = CollectiveKind::all_gather;
  std::string engine;
  std::vector<SizeTime> times;  // by rising size: the first bound by latency, the last by bandwidth
  std::vector<UnitFactor> granted;  // by rising number of units that the collective may use
  std::uint64_t granted_bytes = 0;  // the size at which `granted` was measured
};

// A GEMM and a collective that ran at once; for a scenario in pieces, one piece of each. The times
// of the sides alone are G and C_e.
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

// All that the advisor knows of a device model: times and slowdowns of a few probes, measured once.
// Times are in seconds.
struct DeviceTable {
  std::string device;  // the device's model; on a simulated machine its name, "sim:mi300x-8"
  std::string model;   // the device's model, on simulated machines too: "NVIDIA H200"
  int ranks = 0;
  int compute_units = 0;
  std::string vendor;            // the vendor's collective library, by which C is measured
  std::vector<GemmEntry> gemms;  // one bound by compute, one by memory
  std::vector<CollectiveEntry> collectives;
  std::vector<BesideEntry> besides;
};

// Adds cases of the benchmarks overlap_isolated (sides alone) and overlap (pairs, with the times of
// their sides alone). Skipped cases and cases of other benchmarks are ignored. A GEMM that was not
// measured on all units is left out. Throws Error where a case lacks an axis or metric of its
// benchmark.
void add_rows(DeviceTable& table, const std::vector<OverlapRow>& rows);

// The factor for a number of units: linear between measured points, the nearest point's factor
// outside of them, and 1 if `factors` is empty.
double factor_at(const std::vector<UnitFactor>& factors, int units);

}  // namespace duet
