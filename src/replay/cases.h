#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/collective_work.h"
#include "device/machine.h"
#include "replay/recorded.h"
#include "team/nodes.h"
#include "timing/measurement.h"

namespace duet {

// Of a step without collectives.
inline constexpr const char* kNoCollectives = "none";

struct ReplayTrace {
  std::string name;  // in records: the file's, without its folder and ending
  RecordedTrace recorded;
};

// What is measured.
struct ReplayParts {
  bool gemms = true, collectives = true;  // each distinct one alone
  bool step = true;
};

struct ReplayOptions {
  std::vector<ReplayTrace> traces;   // of different names
  std::vector<std::string> engines;  // of collectives; empty: all of the device but nccl-duet
  std::string gemm;                  // the engine that multiplies; "": the first that can
  ReplayParts parts;
  double tuning_seconds = 1;
  GraphUse graph;  // of the step
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
  Processes* processes = nullptr;
  int node_size = 0;
  NetworkOptions network;
};

// The benchmarks `replay_gemm`, a case for each distinct GEMM of a trace; `replay_collective`, for
// each distinct collective and engine; and `replay`, for the step in each order by each engine, the
// usual one first. A case of the step measures it and its GEMMs and its collectives alone by turns.
// The machine must outlive the benchmarks. Collective among processes, the cases as well. Throws
// UsageError for unknown engines and one rank.
std::vector<Benchmark> replay_benchmarks(Machine& machine, const ReplayOptions& options,
                                         std::function<bool()> stop);

}  // namespace duet
