#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "device/sim/clock.h"
#include "device/sim/platform.h"

namespace duet::sim {

// Starts kernels on a simulated device. A kernel is a flow that occupies compute units.
//
// A kernel with more workgroups than units fills the device. Blocks of later kernels of the same or
// a lower priority then start only as its workgroups end, in the platform's order (DispatchOrder)
// and in groups of the unit grain. Each block does its share of its kernel's amount and keeps its
// unit until that is done.
class Dispatcher {
 public:
  using Id = std::uint64_t;  // of a kernel; never used again

  // The clock must outlive it.
  Dispatcher(VirtualClock& clock, const DeviceModel& model);

  Id start(Flow kernel, Action done);  // calls `done` when all blocks have ended
  void cancel(Id id) noexcept;         // no-op if the kernel has ended

 private:
  struct DispatchedKernel {
    Id id = 0;
    Flow group;                             // of each group of blocks
    int waiting = 0;                        // groups that have not started
    int running = 0;                        // groups that have started and not ended
    std::vector<VirtualClock::Id> started;  // flows of all groups that have started
    Action done;
    // If this kernel fills the device: groups of later kernels, by the amount of this kernel that
    // is left when they start, the largest first.
    std::multimap<double, Id, std::greater<>> queued_groups;
  };

  DispatchedKernel* filling_kernel(int priority);
  double occupied() const;
  void queue_behind(DispatchedKernel& filling_kernel, const DispatchedKernel& kernel);
  void watch_next_start(const DispatchedKernel& filling_kernel);
  void start_reached_groups(Id filling_kernel);
  void start_group(Id id);
  void group_ended(Id id);
  void start_all_queued(const DispatchedKernel& ended);

  VirtualClock& clock_;
  DispatchOrder order_;
  int units_;
  int grain_;
  Id last_id_ = 0;
  std::map<Id, DispatchedKernel> kernels_;  // in the order in which they came
};

}  // namespace duet::sim
