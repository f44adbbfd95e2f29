// A collective's kernel on a simulated device: a barrier uses the first word of each peer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/collective_kernel.h"
#include "device/sim/costs.h"
#include "device/sim/memory.h"
#include "device/sim/sim.h"

namespace duet::sim {

class SimDevice;

class SimKernel : public PreparedKernel {
 public:
  SimKernel(SimDevice& device, const CollectiveKernel& kernel);
  // As this kernel of the platform's library would run it.
  SimKernel(SimDevice& device, const PeerKernel& kernel, const LibraryKernel& library,
            Between between, RollCall roll_call);

  const SimDevice& device() const { return device_; }
  const std::vector<LocalKernelItem>& items() const { return kernel_.items; }
  bool is_ordered() const { return has_semaphores(kernel_); }
  // Whether there is a barrier before the items and after them.
  bool opens() const { return opens_; }
  bool closes() const { return closes_; }
  const KernelPlaces& places() const { return places_; }
  const Charge& charge() const { return charge_; }  // of a call at the lowest priority
  const std::vector<Semaphore>& arrivals() const { return arrivals_; }
  const std::vector<Semaphore>& awaits() const { return awaits_; }
  std::uint64_t next_call() { return calls_++; }
  // The word on which all ranks count themselves, if they do; how far it comes at the next meeting;
  // and a rank's arrival, true if it is the last one's.
  std::optional<Semaphore> count() const { return count_; }
  std::uint64_t next_count() { return static_cast<std::uint64_t>(roll_call_.ranks) * ++meetings_; }
  bool arrive() const;

  // What the items leave in memory, when their time has passed.
  void leave_behind();
  void leave_behind(std::size_t item);

 private:
  void bind(const LocalKernel& kernel);
  void bind(const PeerKernel& kernel);
  void bind(const PacketKernel& kernel) { bind(kernel.barrier); }
  void count_by(const Span& word);

  SimDevice& device_;
  LocalKernel kernel_;
  bool opens_ = false, closes_ = false;
  KernelPlaces places_;
  Charge charge_;
  std::vector<Semaphore> arrivals_;
  std::vector<Semaphore> awaits_;
  std::vector<Reduced> reduced_;  // by item
  RollCall roll_call_;
  std::optional<Semaphore> count_;
  std::uint64_t calls_ = 0, meetings_ = 0;
};

}  // namespace duet::sim
