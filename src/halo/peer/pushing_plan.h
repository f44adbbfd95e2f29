// Boundary rows that are pushed into the neighbours' halos, by copy engines or compute units.
#pragma once

#include <memory>
#include <string>

#include "collectives/session/lanes.h"
#include "collectives/session/watchdog.h"
#include "halo/parts.h"
#include "halo/peer/neighbours.h"

namespace duet {

// An iteration:
//
//   without overlap                    with overlap
//   caller's stream   lanes            caller's stream   lanes
//   sweep of all rows                  sweep of the boundary rows
//        |------------> push up, down       |----------> push up, down
//        |              signal both    sweep of the rest signal both
//        |<------------                     |<----------
//   wait for both neighbours           wait for both neighbours
//
// Without overlap executor kernel has no lanes: the caller's stream pushes and signals.
class PushingPlan : public HaloPlan {
 public:
  // Collective: every rank constructs it inside Team::each().
  // `semaphores`: where they lie.
  PushingPlan(Rank& rank, const HaloTask& task, Executor executor, Watchdog& watchdog,
              MemoryKind semaphores);

  const FieldShape& shape() const override { return fields_.shape(); }
  Span field(int parity) const override { return fields_.field(parity); }
  std::int64_t partials() const override { return parts_.partials(); }
  void enqueue(Stream& stream, const Iteration& iteration) override;
  std::string algorithm() const override;

 private:
  void exchange(Stream& stream, int parity);
  void push(Stream& stream, SideOfRank side, int parity);

  bool overlap_;
  Executor executor_;
  SweepParts parts_;
  std::unique_ptr<SideStreams> lanes_;  // nullptr: the caller's stream pushes
  PeerFields fields_;                   // before the semaphores: where it fails, nothing is mapped
  RingSemaphores semaphores_;
  Watched watched_;
};

}  // namespace duet
