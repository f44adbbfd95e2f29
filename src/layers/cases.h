#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/collective_work.h"
#include "device/machine.h"
#include "layers/operation.h"
#include "team/nodes.h"
#include "timing/measurement.h"

namespace duet {

// Engines of layers: kAlone, kPieces, kFastest, and by their names those of collectives, which run
// the collective before or behind the whole multiplication.
inline constexpr const char* kAlone = "none";     // the multiplication, with its input there
inline constexpr const char* kPieces = "pieces";  // by rows, as they come and go
inline constexpr const char* kFastest = "auto";   // of all others, by a short trial

struct LayerOptions {
  std::vector<Layer> layers;
  std::vector<std::string> engines;  // empty: kAlone, the vendor's collectives, kPieces, kFastest
  std::vector<int> ranges = {1, 2};  // of kPieces: those that are tried, and measured one by one
  std::vector<RowSums> sums = {RowSums::by_compute, RowSums::in_slots};
  std::vector<int> streams = {1, 2};
  std::vector<bool> joined = {false, true};  // true: of gathers in one range by four ranks or more
  std::string gemm;                          // the engine that multiplies; "": the first that can
  double tuning_seconds = 1;
  GraphUse graph;
  double energy_seconds = 0;  // above 0: also measure energy, for so long at least
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
  Processes* processes = nullptr;
  int node_size = 0;
  NetworkOptions network;
};

// The benchmark `layer`: a case for each layer and engine, for kPieces also for each number of
// ranges and of streams and way of adding. A case measures its own way, the multiplication alone
// and the serial way of the first collective engine by turns: its figures are differences of these.
// The machine must outlive the benchmark. Collective among processes, the cases as well. Throws
// UsageError for layers that the ranks do not divide and for unknown engines.
Benchmark layer_benchmark(Machine& machine, const LayerOptions& options,
                          std::function<bool()> stop);

}  // namespace duet
