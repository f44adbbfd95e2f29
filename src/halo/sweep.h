// What a rank's device computes in an iteration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "halo/problem.h"

namespace duet {

// The rank's field: rows 1 to `rows` are its own, rows 0 and rows + 1 its halo, above and below.
struct FieldShape {
  std::int64_t nx = 0, rows = 0;
  std::size_t row_bytes() const { return static_cast<std::size_t>(nx) * sizeof(float); }
  std::size_t bytes() const { return static_cast<std::size_t>(rows + 2) * row_bytes(); }
};

// Rows [begin, end) of a field, counted from 0, its halo above.
struct FieldRows {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};

// Row `index` of a field, counted from 0.
Span row_at(const Span& field, const FieldShape& shape, std::int64_t index);

// The rows that a neighbour needs, the first and the last, as two parts (one where they are the
// same row), and all rows between them.
struct BoundaryRows {
  FieldRows first, last;
};
BoundaryRows boundary_of(const FieldShape& shape);
FieldRows interior_of(const FieldShape& shape);

// New values of the rows of one or two parts, all points of each, the fixed columns included. The
// fields have `shape`.
struct Sweep {
  FieldShape shape;
  Span from, to;
  FieldRows rows;
  FieldRows also;  // empty: one part
  // fp64: partial sums of (new - old)^2, as many as Sweeper::partials() says; empty: no norm.
  Span partials;
};

// The norm that the sweep's own blocks make, over all points of all ranks: fp64 sums of
// (new - old)^2, which are there when the call has ended. All calls of a kernel make norms or none.
struct NormOfSweep {
  bool made = false;
  Span total;         // of this call; empty: the next one makes it
  Span total_before;  // of the call before; empty: that has made it
};

// What the sweep's own blocks do of the exchange, where a device has a kernel for it.
//
// By stores: calls are counted on the device. Call n (from 0) waits before the boundary rows until
// both words here are at least n, and writes n + 1 to the neighbours' words when the boundary rows
// are stored there. Each word serves both fields.
//
// By copies: words are semaphores, one for each field. A call waits before the boundary rows for
// those of the field that it reads, sets them back to 0, and signals those of the field that it
// writes when the boundary rows are there. Streams wait for these, copy the rows to the neighbours
// and signal the semaphores that the neighbours' next calls wait for.
struct ExchangingSweep {
  FieldShape shape;
  Span field[2];                      // the rank's own
  Span above[2], below[2];            // the neighbours' halo rows; empty: by copies
  Span from_above[2], from_below[2];  // words here: the neighbours' rows of this field are here
  // By stores words there: this rank's rows of this field are there. By copies words here: its rows
  // can be copied.
  Span to_above[2], to_below[2];
  // For norms. Words at every rank of the ring, the same on all: kWordsOfSum for every rank in each
  // of two turns, 0 at first; and which rank this is.
  std::vector<Span> sums;
  int rank = 0;

  static constexpr std::size_t kWordsOfSum = 2;
};

// The place of a call among those that follow each other.
struct CallOfSample {
  bool opens = false;   // by copies, the first: waits for no rows
  bool closes = false;  // by stores, the last: ends only when both neighbours' rows are here
};

class SweepKernel {
 public:
  virtual ~SweepKernel() = default;
  // Reads field[parity] and writes the other one. Parities alternate, also from one sample to the
  // next: those that are enqueued again, as graphs are, have an even number of calls.
  virtual void enqueue(Stream& stream, int parity, const NormOfSweep& norm,
                       const CallOfSample& call) = 0;
  // Blocks that occupy the device while they wait for neighbours, or for blocks that do.
  virtual std::int64_t blocks_that_wait() const = 0;
};

// Sweeps on one device. Streams of the device run one call of an object at a time.
class Sweeper {
 public:
  virtual ~Sweeper() = default;
  // The number of partial sums of a sweep over these parts. The order in which a sum is made
  // depends on the shape alone: equal sweeps have equal bits.
  virtual std::int64_t partials(const FieldShape& shape, const FieldRows& rows,
                                const FieldRows& also) const = 0;
  virtual void sweep(Stream& stream, const Sweep& sweep) = 0;
  // *total = the sum of the fp64 values, in their order or another that depends on their number
  // alone.
  virtual void sum(Stream& stream, const Span& values, const Span& total) = 0;
  // The kernel that sweeps and exchanges; nullptr: the device has none.
  virtual std::unique_ptr<SweepKernel> exchanging(const ExchangingSweep&) { return nullptr; }
};

using MakeSweeper = std::function<std::unique_ptr<Sweeper>(Device&)>;
// Called by the vendors' modules when they are loaded. `host` and `sim` are built in.
void register_sweeper(const std::string& device_kind, MakeSweeper make);
// Throws Unavailable for a device whose module has none.
std::unique_ptr<Sweeper> make_sweeper(Device& device);

// Sweeps as tasks: by the CPU's threads on host devices; on simulated ones in virtual time, with
// the values where fields have contents. A row has one partial sum.
std::unique_ptr<Sweeper> make_cpu_sweeper(Device& device);

}  // namespace duet
