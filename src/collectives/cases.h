#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/call_timeline.h"
#include "collectives/collective_work.h"
#include "collectives/group_cases.h"
#include "collectives/schedule/checker.h"
#include "collectives/skew.h"
#include "device/machine.h"
#include "team/network_options.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// The cases of `duet collective`: one for each combination of the lists that applies to the kind.
struct CollectiveOptions {
  std::vector<CollectiveKind> kinds{CollectiveKind::all_gather};
  std::vector<std::string> engines;  // empty: every engine for this kind of device
  // size_bytes() of collective.h, rounded down to whole counts; empty: default_collective_sizes().
  std::vector<std::uint64_t> sizes;
  std::vector<DType> dtypes{DType::fp32};      // several types: reductions leave out int8 (bytes)
  std::vector<Reduction> ops{Reduction::sum};  // used by kinds that reduce
  int root = 0;                                // used by kinds that have a root
  std::vector<bool> in_place{false, true};     // kinds without an in-place form skip `true`
  std::vector<Skew> skews{Skew::even};         // used by all_to_all_v
  // Bytes of a packet, of all_to_all by engines that put in packets; empty: kDefaultPacket. Packets
  // that hold a whole chunk are measured once.
  std::vector<std::uint64_t> packets;
  int node_size = 0;       // as Team::set_node_size() takes it
  NetworkOptions network;  // between nodes
  bool verified = true;
  GraphUse graph;
  Mode mode;
  // Of cases that compares_small_calls() (collectives/tuning/changeover.h); none: as all others.
  std::optional<Mode> small_calls_mode;
  std::string device_name;  // --device, as the journal shows it
  // Groups of ranks make the calls, all groups at once (group_cases.h): sizes are those of a group.
  // `graph`, `mode` and `small_calls_mode` are then not used.
  std::optional<GroupOptions> groups;
};

// The sizes in bytes that `duet collective` measures by default.
// - send_recv: the sizes of `duet copy`, so that the two curves can be compared.
// - Other kinds: 64 KiB to 1 GiB by factors of 4; on CPUs at most 16 MiB.
std::vector<std::uint64_t> default_collective_sizes(CollectiveKind kind, Machine& machine);

// The fewest bytes that hold an element for each rank.
std::uint64_t least_collective_bytes(CollectiveKind kind, DType dtype, int ranks);

// The benchmark `collective`. Its ranks are all devices of the machine and, with several processes,
// those of the other processes' machines. With `groups`: the benchmark `collective_groups`.
// - Collective among processes: all make the same call, run the cases in the same order and
//   conclude together.
// - The machine and `processes` must outlive the benchmark.
// - The first case that needs an engine opens it. All engines are closed when the benchmark ends.
// - `stop` is called between batches; `true` ends the measurement.
// - Sizes below least_collective_bytes() are left out where others are not.
// Throws UsageError for an unknown engine, a root that is no rank, an element type that does not
// reduce, sizes that all hold less than one element per rank, and for packets that no engine has or
// that are no multiple of 16 bytes.
Benchmark collective_benchmark(Machine& machine, const CollectiveOptions& options,
                               std::function<bool()> stop, Processes* processes = nullptr);

// A case's plans.
struct PlannedCase {
  std::string engine;
  std::uint64_t bytes = 0;  // size_bytes()
  Skew skew = Skew::even;
  bool in_place = false;
  std::string algorithm;        // rank 0's
  CollectiveSchedule schedule;  // without ranks: the plans are none
  std::optional<Skipped> skipped;
  std::vector<std::string> warnings;
  Axes axes;                                           // of the case
  std::vector<std::vector<CallTimeline::Step>> steps;  // by rank; empty unless they were timed
};

// Plans the benchmark's cases and measures none: calls `take` for each. `timed`: makes a few calls
// of each, of which the last tells when its steps ran. By one process. Throws as
// collective_benchmark().
void plan_collectives(Machine& machine, const CollectiveOptions& options,
                      const std::function<void(const PlannedCase&)>& take, bool timed = false);

}  // namespace duet
