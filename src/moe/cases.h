#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/collective_work.h"
#include "device/machine.h"
#include "moe/counts_exchange.h"
#include "moe/exchanged_rows.h"
#include "moe/stages.h"
#include "team/nodes.h"
#include "timing/measurement.h"

namespace duet {

// Engines of layers beside those of collectives: kExpertsAlone, kFastestExchange.
inline constexpr const char* kExpertsAlone = "none";     // the experts, with their rows there
inline constexpr const char* kFastestExchange = "auto";  // of all others, by a short trial

struct MoeOptions {
  std::vector<MoeShape> shapes;
  std::vector<TokenRouting> routings = {{}};
  std::vector<std::string> engines;     // empty: kExpertsAlone, the usual collectives, dma, kernel
  std::vector<ExchangeKind> exchanges;  // empty: all_exchanges()
  std::vector<MoeOverlap> overlaps = {MoeOverlap::none};
  std::vector<MoeCounts> counts = {MoeCounts::known};
  int routings_in_turn = 3;
  double tuning_seconds = 1;
  GraphUse graph;
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
  Processes* processes = nullptr;
  int node_size = 0;
  NetworkOptions network;
};

// The benchmark `moe`: a case for each shape, routing, engine, exchange and overlap. A case
// measures its layer, the experts alone and, of an overlap, the layer without it by turns, and
// times the layer's phases. The machine must outlive the benchmark. Collective among processes, the
// cases as well. Throws UsageError for shapes that the ranks or the overlaps do not divide,
// overlaps without anything to overlap, counts for hosts in graphs, routings of other experts, and
// unknown engines.
Benchmark moe_benchmark(Machine& machine, const MoeOptions& options, std::function<bool()> stop);

}  // namespace duet
