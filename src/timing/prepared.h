#pragma once

#include <string>
#include <vector>

#include "device/machine.h"
#include "timing/work.h"

namespace duet {

// Prepares a Work on all ranks; its destructor releases the Work on all local ranks. If prepare()
// throws on a rank, the constructor releases and rethrows. Collective.
class Prepared {
 public:
  Prepared(Team& team, Work& work, const Placement& placement);
  ~Prepared() { release(); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  void release() noexcept;

  Team& team_;
  Work& work_;
};

// Enqueues an iteration, in a range of a profiler with the Work's name.
void enqueue_in_range(Work& work, Rank& rank, Stream& stream);

// Verifies on every rank of all processes. Returns "" if all were verified, otherwise why one could
// not be. Throws what Work::verify() throws. Collective.
std::string verify(Team& team, Work& work);

// The end of a measurement, after errors too: memory must not be freed while work may still access
// it.

// Waits until all streams and their devices are idle, at most until the deadline, which counts from
// the call. Waiting for the devices covers work that a failed call left on streams of its own.
void run_dry(Machine& machine, const std::vector<Stream*>& streams,
             double deadline_seconds) noexcept;

}  // namespace duet
