// A collective by one or two kernels over mapped peers: the fastest way for small sizes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/engine.h"
#include "collectives/peer/items.h"
#include "collectives/peer/packet_buffers.h"
#include "collectives/peer/semaphores.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

// How its kernels are launched.
struct KernelLaunch {
  int blocks = 0;  // the same on every rank; 0: by the collective's size
  // Device::prepare() unless given. What is given also synchronises the ranks: the kernel has no
  // peers' words.
  std::function<std::unique_ptr<PreparedKernel>(Device&, const PeerKernel&)> prepare;
};

class KernelPlan : public CollectivePlan {
 public:
  // Inside Team::each(), by every rank.
  KernelPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             Watchdog& watchdog, const KernelLaunch& launch = {});
  ~KernelPlan() override;

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  double wire_bytes() const override { return wire_bytes_; }

 private:
  std::vector<int> blocks_of_steps(const Collective& collective, int ranks,
                                   const KernelLaunch& launch) const;
  PeerKernel peer_kernel(const Collective& collective, std::size_t step) const;
  void set_semaphores(PeerKernel& kernel, const Rank& rank, std::size_t step) const;
  std::unique_ptr<PreparedKernel> prepare(const Rank& rank, const Collective& collective,
                                          const KernelLaunch& launch, std::size_t step) const;

  Watchdog& watchdog_;
  std::string_view name_;  // of the collective
  PeerMemory send_, recv_;
  std::uint64_t packet_bytes_;  // of a part that goes by way of packet_buffers; 0: none does
  std::vector<Items> steps_;
  std::vector<int> blocks_;  // by step
  Semaphores semaphores_;  // of each rank, by step so many for every rank that writes them, by rank
  std::optional<PacketBuffers> packet_buffers_;           // of every two ranks
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;  // by step
  double wire_bytes_ = 0;
};

}  // namespace duet
