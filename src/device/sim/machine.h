#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/machine.h"
#include "device/sim/clock.h"
#include "device/sim/costs.h"
#include "device/sim/device.h"
#include "device/sim/memory.h"
#include "device/sim/platform.h"
#include "device/sim/scheduler.h"

namespace duet::sim {

// The devices of a simulated platform, with the clock, the cost model and the memory that they
// share. Only the running rank may call it (scheduler.h).
class SimMachine : public Machine {
 public:
  explicit SimMachine(Platform platform);

  const std::string& name() const override { return name_; }
  int size() const override { return static_cast<int>(devices_.size()); }
  Device& device(int index) override { return *devices_.at(static_cast<std::size_t>(index)); }
  Link link(int from, int to) const override;
  double now() override { return clock_.now(); }
  bool is_virtual() const override { return true; }
  RankScheduler& scheduler() override { return scheduler_; }

  const Platform& platform() const { return platform_; }
  VirtualClock& clock() { return clock_; }
  SimScheduler& sim_scheduler() { return scheduler_; }
  const CostModel& costs() const { return costs_; }
  SimMemory& memory() { return memory_; }

  int add(SimStream* stream);  // registers a stream and returns its number
  void remove(SimStream* stream);
  // Resumes the stream once its semaphore_reached() is true after a write to the word.
  void wait_for(const Semaphore& semaphore, SimStream* stream);
  // Called after every write to memory: resumes the streams that wait for a word in the span, or
  // for any word.
  void memory_written(const Span& span);
  void any_memory_written();

 private:
  std::string blocked() const;  // what the streams wait for, for the message of a deadlock
  void resume(std::vector<SimStream*> streams);
  std::vector<Device*> raw_devices() const;

  Platform platform_;
  std::string name_;
  VirtualClock clock_;
  SimScheduler scheduler_;
  CostModel costs_;
  std::vector<std::unique_ptr<SimDevice>> devices_;
  SimMemory memory_;
  std::map<int, SimStream*> streams_;  // by number
  int last_stream_ = -1;
  std::multimap<std::uintptr_t, SimStream*> waiting_;  // by the semaphore's address
};

}  // namespace duet::sim
