// What Duet measures: work that ranks enqueue on streams. Every workload implements Work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "core/by_name.h"
#include "core/error.h"
#include "device/graph.h"
#include "device/stream.h"
#include "team/team.h"

namespace duet {

// What one iteration costs, summed over all ranks. Rates are computed from it; 0: does not apply.
struct Cost {
  double flop = 0;
  double memory_bytes = 0;  // moved to and from device memory
  double wire_bytes = 0;    // moved between devices
  // What else the workload counts, by a name that ends in its unit ("bus_bytes", "tokens");
  // RecordKind::quantities lists them. Those that end in "_per_s" are no amounts: they do not grow
  // with the number of iterations.
  ByName<double> more = {};
};

// The cost of so many iterations.
Cost times(const Cost& cost, double iterations);

// How the stream of a rank's part of the work is created.
struct Placement {
  int priority = 0;
  int units = 0;  // compute units; 0: all
};

// Every rank makes the same calls in the same order: prepare(), enqueue() any number of times,
// renew(), enqueue() once more, verify(), release(). An exception ends the case.
class Work {
 public:
  virtual ~Work() = default;
  virtual std::string name() const = 0;
  virtual Cost cost() const = 0;

  // Allocates, plans and tunes, outside the timed region. May block and synchronise with other
  // ranks.
  virtual void prepare(Rank& rank, const Placement& placement) = 0;

  // Enqueues one iteration on `stream` and returns without blocking. A Work that uses further
  // streams must fork them from `stream` and join them into it again through events.
  virtual void enqueue(Rank& rank, Stream& stream) = 0;

  // How many calls one enqueue() makes. A sample is the time of one call.
  virtual int calls() const { return 1; }

  // True if enqueue() may block until the device executes the work, as the vendors' copies of
  // pageable memory do. Such a Work runs without the start gate, behind which the blocked call
  // would never return.
  virtual bool host_driven() const { return false; }

  // How many enqueue()s fit into a device's launch queue, at least 1 and the same on all ranks: so
  // many wait behind the start gate, and the others are enqueued when it is open. An enqueue() that
  // finds the queue full blocks.
  virtual int most_queued() const { return std::numeric_limits<int>::max(); }

  // Fills every input with contents that it never had, and poisons every output. verify() then
  // passes only if the one iteration between the two calls did the work; results of earlier
  // iterations, or of another Work in the same memory, must not pass. Blocks; no iteration runs.
  virtual void renew(Rank& rank) = 0;

  // Checks the outputs of the last iteration; the stream is idle. Throws Mismatch. Returns Skipped
  // if the machine holds no contents to check (a simulated one).
  virtual std::optional<Skipped> verify(Rank& rank) = 0;

  // Frees what prepare() made. Called on every rank, after errors as well.
  virtual void release(Rank& rank) noexcept = 0;
};

// How many calls of so many operations may wait; 0: a single one may fill the queue, so that a Work
// that makes it is host_driven(). The operations of a graph count each: 10 graphs of 250 blocked on
// an H200 (CUDA 13.0), and one of a Qwen3 of 36 blocks; 2 of 250 did not.
inline int calls_queued(std::size_t operations) {
  constexpr std::size_t kLaunchQueue = 512;
  return static_cast<int>(kLaunchQueue / std::max<std::size_t>(1, operations));
}

// The operations of the largest of all ranks' graphs. Collective, inside Team::each().
std::size_t largest_graph(Rank& rank, const Graph& own, double deadline_seconds);

// Names of Cost::more of what goes over a network.

// Of network messages the bytes of one. Of collectives over nodes the bytes that leave their nodes;
// missing: none, or unknown.
inline constexpr const char* kNetworkBytes = "network_bytes";
// With kNetworkBytes: the nominal rate of the links that a message may use, of collectives that of
// all ranks' links between nodes, one direction; 0: unknown.
inline constexpr const char* kLinkGbitPerS = "link_gbit_per_s";

}  // namespace duet
