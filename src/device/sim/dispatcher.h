// Who gets a simulated device's compute units: kernels that come while a longer one fills the
// device wait until some of its workgroups have ended.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "device/sim/clock.h"
#include "device/sim/platform.h"

namespace duet::sim {

// A kernel is a flow that occupies units. One with more workgroups than it has units fills the
// device for kernels that come later with no higher priority. Their blocks start as its workgroups
// end, in the platform's order, in groups of the unit grain; each block brings its share of the
// kernel's amount and keeps its unit until that is done.
class Dispatcher {
 public:
  using Id = std::uint64_t;  // of a kernel; never used again

  // The clock must outlive it.
  Dispatcher(VirtualClock& clock, const DeviceModel& model);

  Id start(Flow kernel, Action done);
  void cancel(Id id) noexcept;  // no-op if it has ended

 private:
  struct Kernel {
    Id id = 0;
    Flow group;       // what each group of its blocks is to do
    int waiting = 0;  // groups that have not started
    int running = 0;
    std::vector<VirtualClock::Id> started;  // those that ended included
    Action done;
    // Of a kernel that fills the device: who starts a group when that much of it is left.
    std::multimap<double, Id, std::greater<>> turns;
  };

  Kernel* filling(int priority);
  double occupied() const;
  void queue_behind(Kernel& filling, const Kernel& kernel);
  void watch(const Kernel& filling);
  void give_turns(Id filling);
  void start_group(Id id);
  void group_ended(Id id);
  void start_all_behind(const Kernel& ended);

  VirtualClock& clock_;
  DispatchOrder order_;
  int units_;
  int grain_;
  Id last_ = 0;
  std::map<Id, Kernel> kernels_;  // in the order in which they came
};

}  // namespace duet::sim
