// A collective's kernel on a host device: all workers act as one block.
#pragma once

#include <cstdint>
#include <vector>

#include "device/collective_kernel.h"
#include "device/host/device.h"

namespace duet::host {

class HostKernel : public PreparedKernel {
 public:
  HostKernel(HostDevice& device, const CollectiveKernel& kernel);

  const HostDevice& device() const { return device_; }
  bool polled() const { return polled_; }  // a peer belongs to another process
  std::uint64_t next_call() { return calls_++; }

  // Whether there is a barrier with peers before the items and after them.
  bool opens() const { return opens_; }
  bool closes() const { return closes_; }
  void arrive(std::uint64_t value) const;        // writes the peers' words
  bool have_arrived(std::uint64_t value) const;  // whether all peers have written theirs

  // Items that wait or signal run one by one, all others beside each other.
  bool is_ordered() const { return has_semaphores(kernel_); }
  const std::vector<LocalKernelItem>& items() const { return kernel_.items; }
  void run_items() const;
  void run_item(const KernelItem& item) const;

 private:
  void bind(const LocalKernel& kernel);
  void bind(const PeerKernel& kernel);
  void bind(const PacketKernel& kernel) { bind(kernel.barrier); }
  void add_peers(const PeerKernel& kernel);
  int parts_of(std::size_t bytes) const;

  HostDevice& device_;
  LocalKernel kernel_;
  std::vector<std::uint64_t*> arrivals_;
  std::vector<const std::uint64_t*> awaits_;
  bool opens_ = false, closes_ = false;
  std::size_t bytes_ = 0;  // of all items
  bool polled_ = false;
  std::uint64_t calls_ = 0;
};

}  // namespace duet::host
