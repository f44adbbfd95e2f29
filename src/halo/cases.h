#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "halo/halo_work.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// The cases of `duet halo`: one for each combination of the lists.
struct HaloOptions {
  std::vector<std::string> engines;  // empty: every engine for this kind of device
  std::vector<std::int64_t> nx, ny;  // empty: default_halo_sizes(), square grids
  // Numbers of ranks; empty: with scaling 1, 2, 4 ... and all, without all.
  std::vector<int> ranks;
  std::vector<Scaling> scalings{Scaling::none};
  std::vector<bool> overlaps{false, true};
  std::vector<NormMode> norms{NormMode::none};
  bool graph = false;
  int iterations = 10;  // of a sample; see HaloSettings
  bool verified = true;
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
  int node_size = 0;        // as Team::set_node_size() takes it
  NetworkOptions network;
};

// Rows and columns of the square grids that `duet halo` measures by default: on GPUs 16384 and
// 20480, on CPUs 4096, simulated 1024, which have contents there.
std::vector<std::int64_t> default_halo_sizes(Machine& machine);

// The benchmark `halo`. The machine and `processes` must outlive it. Collective among processes, as
// collective_benchmark(). In one process a case of fewer ranks than devices runs on the first ones.
// With several processes a case has all ranks, or one: then every rank has a grid by itself, all at
// once, and the slowest counts.
// Throws UsageError for an engine that is not there, a grid of too few columns or rows, and a
// number of ranks that the run does not have.
Benchmark halo_benchmark(Machine& machine, const HaloOptions& options, std::function<bool()> stop,
                         Processes* processes = nullptr);

// From finished cases of `duet halo`: one record `halo_scaling` for each case of several ranks
// whose scaling is strong or weak, where a case of one rank with the same grid a rank (weak) or
// altogether (strong) and the same norm was measured. Rates:
//   speedup       strong: t(1) / t(p); weak: p t(1) / t(p)
//   efficiency    speedup / p
//   baseline_seconds  t(1): of the fastest engine on one rank
std::vector<Measurement> halo_scaling(const std::vector<Finished>& finished);

}  // namespace duet
