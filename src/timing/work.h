// What Duet measures: work that ranks enqueue on streams. Every benchmark is a Work.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "device/stream.h"
#include "team/team.h"

namespace duet {

// What one iteration takes, all ranks together.
struct Cost {
  double flop = 0;
  double memory_bytes = 0;  // moved to and from device memory
  double wire_bytes = 0;    // moved between devices
  // Of collectives, as nccl-tests counts them (docs/measuring.md): the size by which the algorithm
  // bandwidth counts, that times the bus factor, and what leaves the busiest rank (0: not known).
  double algorithm_bytes = 0, bus_bytes = 0, busiest_wire_bytes = 0;
  // Of what goes over a network, which counts in bits: what one message carries, and what the links
  // that it may use promise (0: unknown).
  double network_bytes = 0, link_gbit_per_s = 0;
};

// Where a rank's share of the work runs.
struct Placement {
  int priority = 0;
  int units = 0;  // compute units; 0: all
};

// Every rank makes the same calls in the same order: prepare, enqueue any number of times, renew,
// enqueue once more, verify, release. Errors end the case.
class Work {
 public:
  virtual ~Work() = default;
  virtual std::string name() const = 0;
  virtual Cost cost() const = 0;

  // Allocates, plans and tunes, outside all timing; may block and may synchronise with other ranks.
  virtual void prepare(Rank& rank, const Placement& placement) = 0;

  // Puts one iteration on the stream, and returns without blocking. Streams of the Work's own
  // must fork from `stream` and join it again through events.
  virtual void enqueue(Rank& rank, Stream& stream) = 0;

  // How many calls one enqueue() makes: samples are seconds of one of them.
  virtual int calls() const { return 1; }

  // True if enqueue() may block until the device takes the work, as the vendors' copies of pageable
  // memory do. The start gate then holds nothing: a call that blocks behind it would for ever.
  virtual bool host_driven() const { return false; }

  // Blocking, while no iteration runs: gives every input contents that it never had and poisons
  // every output, so that verify() passes only if the iteration between the two did the work.
  // Results of earlier iterations, of another Work in the same memory too, must not pass for its
  // own.
  virtual void renew(Rank& rank) = 0;

  // Checks what the last iteration left, after the stream is idle. Throws Mismatch. Skipped where
  // the machine holds no contents to check.
  virtual std::optional<Skipped> verify(Rank& rank) = 0;

  // Frees what prepare() made; called on every rank, after errors as well. Does not throw.
  virtual void release(Rank& rank) noexcept = 0;
};

}  // namespace duet
