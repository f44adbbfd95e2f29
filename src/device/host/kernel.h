#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/collective_kernel.h"
#include "device/host/device.h"

namespace duet::host {

// A collective's kernel on a host device. All workers of the device act as one block, so a barrier
// uses the first word of each peer.
class HostKernel : public PreparedKernel {
 public:
  // Throws BadArgument as Device::prepare() states.
  HostKernel(HostDevice& device, const CollectiveKernel& kernel);

  const HostDevice& device() const { return device_; }
  // Whether another process writes awaited words. Its writes wake no worker, so workers must poll.
  bool polled() const { return polled_; }
  std::uint64_t next_call() { return calls_++; }  // the number of the next call, from 0

  // Whether there is a barrier with peers before the items and after them.
  bool opens() const { return opens_; }
  bool closes() const { return closes_; }
  void arrive(std::uint64_t value) const;        // writes `value` to the words at all peers
  bool have_arrived(std::uint64_t value) const;  // whether all awaited words are >= value

  // Whether items run one after the other, because some wait or signal. Otherwise run_items() runs
  // them side by side.
  bool is_ordered() const { return has_semaphores(kernel_); }
  const std::vector<LocalKernelItem>& items() const { return kernel_.items; }
  void run_items() const;
  void run_item(const KernelItem& item) const;

 private:
  void bind(const LocalKernel& kernel);
  void bind(const PeerKernel& kernel);
  void bind(const PacketKernel& kernel) { bind(without_packets(kernel)); }
  void bind(const NormKernel& kernel);
  void add_peers(const PeerKernel& kernel);
  void run_norm(const NormKernel& kernel) const;
  int parts_of(std::size_t bytes) const;

  HostDevice& device_;
  LocalKernel kernel_;
  std::optional<NormKernel> norm_;            // instead of items
  std::vector<std::uint64_t*> arrivals_;      // by peer: the word at the peer
  std::vector<const std::uint64_t*> awaits_;  // by peer: the word here
  bool opens_ = false, closes_ = false;
  std::size_t bytes_ = 0;  // of all items
  bool polled_ = false;
  std::uint64_t calls_ = 0;
};

}  // namespace duet::host
