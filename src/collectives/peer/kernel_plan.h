// A collective by one or two kernels over mapped peers: the fastest way for small sizes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/peer/kernel_items.h"
#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"
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

class KernelPlan : public PeerPlan {
 public:
  // Inside Team::each(), by every rank.
  KernelPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             Watchdog& watchdog, const KernelLaunch& launch = {});

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  std::vector<int> blocks_of_steps(const Collective& collective, int ranks,
                                   const KernelLaunch& launch) const;
  PeerKernel peer_kernel(const Collective& collective, std::size_t step) const;
  void set_semaphores(PeerKernel& kernel, const Rank& rank, std::size_t step) const;
  std::unique_ptr<PreparedKernel> prepare(const Rank& rank, const Collective& collective,
                                          const KernelLaunch& launch, std::size_t step) const;

  PeerMemory send_, recv_;
  std::uint64_t packet_bytes_;  // of a part that goes by way of packet_buffers; 0: none does
  std::vector<Items> steps_;
  std::vector<int> blocks_;  // by step
  PeerSemaphores
      semaphores_;  // of each rank, by step so many for every rank that writes them, by rank
  std::optional<PacketBuffers> packet_buffers_;           // of every two ranks
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;  // by step
  Watched watched_;
};

}  // namespace duet
