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

// A collective's kernel on a simulated device. A barrier uses the first word of each peer. The
// constructors throw BadArgument as Device::prepare() states.
class SimKernel : public PreparedKernel {
 public:
  SimKernel(SimDevice& device, const CollectiveKernel& kernel);
  // The kernel with the costs of `library`, a kernel of the platform's collective library. If the
  // counter has a word, barriers use it instead of the peers' words.
  SimKernel(SimDevice& device, const PeerKernel& kernel, const LibraryKernel& library,
            NodeAlgorithm node_algorithm, BarrierCounter counter);

  const SimDevice& device() const { return device_; }
  const std::vector<LocalKernelItem>& items() const { return kernel_.items; }
  // Whether items run one after the other, because some wait or signal.
  bool is_ordered() const { return has_semaphores(kernel_); }
  // Whether there is a barrier before the items and after them.
  bool opens() const { return opens_; }
  bool closes() const { return closes_; }
  const KernelLocations& locations() const { return locations_; }
  const OperationCost& cost() const { return cost_; }  // of a call at the lowest priority
  const std::vector<Semaphore>& arrivals() const { return arrivals_; }
  const std::vector<Semaphore>& awaits() const { return awaits_; }
  std::uint64_t next_call() { return calls_++; }  // the number of the next call, from 0
  // The word of the BarrierCounter; empty if the kernel has none. Only with such a word:
  // next_count() returns its value when all ranks have reached this rank's next barrier. arrive()
  // counts this rank's arrival and returns whether it was the last one.
  std::optional<Semaphore> count() const { return count_; }
  std::uint64_t next_count() { return static_cast<std::uint64_t>(counter_.ranks) * ++barriers_; }
  bool arrive() const;

  // Writes the results of all items, or of one. Called when their virtual time has passed.
  void write_results();
  void write_results(std::size_t item);

 private:
  void bind(const LocalKernel& kernel);
  void bind(const PeerKernel& kernel);
  void bind(const PacketKernel& kernel) { bind(without_packets(kernel)); }
  void bind(const NormKernel& kernel);
  void write_norm(const NormKernel& kernel);
  void count_by(const Span& word);

  SimDevice& device_;
  LocalKernel kernel_;
  std::optional<NormKernel> norm_;  // instead of items
  bool opens_ = false, closes_ = false;
  KernelLocations locations_;
  OperationCost cost_;
  std::vector<Semaphore> arrivals_;
  std::vector<Semaphore> awaits_;
  std::vector<ReducedVersions> reduced_;  // by item; of a norm one
  BarrierCounter counter_;
  std::optional<Semaphore> count_;
  std::uint64_t calls_ = 0, barriers_ = 0;
};

}  // namespace duet::sim
