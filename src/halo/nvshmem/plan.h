#pragma once

#include <memory>
#include <string>

#include "collectives/nvshmem/pe.h"
#include "collectives/session/lanes.h"
#include "halo/engine.h"
#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// One rank's part. The symmetric memory has both fields, of as many rows on every PE, and a word
// for each neighbour and parity, which that neighbour signals. Puts of a neighbour's next iteration
// may arrive before the last ones of this iteration, so their signals are counted apart; those of
// the one after it wait for this rank.
//
// 1. Boundary rows (with overlap: before the others), put into the neighbours' halos.
// 2. A quiet, and signals to both neighbours; of puts with signals, nothing.
// 3. A wait for both neighbours' signals; with overlap beside the rows between.
class NvshmemPlan : public HaloPlan, private DeviceWaits {
 public:
  NvshmemPlan(const HaloCalls& calls, Put put, Rank& rank, const HaloTask& task,
              Watchdog& watchdog);

  const FieldShape& shape() const override { return shape_; }
  Span field(int parity) const override;
  std::int64_t partials() const override;
  void enqueue(Stream& stream, const Iteration& iteration) override;
  std::string algorithm() const override;

 private:
  void release_waits() noexcept override;
  std::size_t field_bytes() const;
  float* row_of(int parity, std::int64_t row) const;
  std::uint64_t* word(SideOfRank side, int parity) const;  // which that neighbour signals
  SweepCall sweep_call(const Iteration& iteration, bool boundary, bool interior) const;
  SyncCall sync_call(int parity) const;

  const HaloCalls& calls_;
  Put put_;
  Device& device_;
  Ring ring_;
  int pe_;
  bool overlap_;
  FieldShape shape_;
  std::int64_t most_rows_, rows_above_;
  SymmetricMemory memory_;
  Buffer count_;  // calls of each parity, counted by the device
  SideStreams side_;
  Watched watched_;
};

}  // namespace duet::nvshmem
