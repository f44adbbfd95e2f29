#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "collectives/mpi/communicator.h"
#include "halo/parts.h"

namespace duet::mpi {

// One rank's part by MPI's messages, which the host thread drives:
//
//   sweep of the boundary rows (without overlap: of all) -> host waits for it
//   Irecv of both halo rows, Isend of both boundary rows;  with overlap the rest is swept meanwhile
//   host waits for the messages
//
// The row that goes up has tag 0, the one that goes down tag 1: of two ranks both neighbours are
// one.
class MpiHaloPlan : public HaloPlan {
 public:
  MpiHaloPlan(std::shared_ptr<Communicator> communicator, Rank& rank, const HaloTask& task);

  const FieldShape& shape() const override { return parts_.shape(); }
  Span field(int parity) const override;
  std::int64_t partials() const override { return parts_.partials(); }
  // Throws Timeout, or Error when MPI or another process of the run fails.
  void enqueue(Stream& stream, const Iteration& iteration) override;
  bool host_driven() const override { return true; }
  std::string algorithm() const override;

 private:
  enum RowAt { first, last, upper, lower };  // own boundary rows, and halo rows
  static constexpr RowAt kRows[] = {first, last, upper, lower};

  Span row(RowAt at, int parity) const;
  // What MPI is given: the row itself, or pinned memory in its place.
  Span message(RowAt at, int parity) const;
  void exchange(int parity);

  std::shared_ptr<Communicator> communicator_;
  Processes* processes_;
  Ring ring_;
  SweepParts parts_;
  Buffer fields_;
  Buffer staging_;  // four rows of pinned memory; empty: MPI reaches the device's
  std::unique_ptr<Event> swept_;
  bool on_cpu_;
};

}  // namespace duet::mpi
