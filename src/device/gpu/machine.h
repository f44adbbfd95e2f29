#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/gpu/device.h"
#include "device/gpu/peers.h"
#include "device/machine.h"

namespace duet::DUET_GPU {

class GpuMachine : public Machine {
 public:
  // `ordinals` are the runtime's device numbers. Enables peer access between all pairs of devices
  // that support it.
  GpuMachine(std::string name, const std::vector<int>& ordinals);

  const std::string& name() const override { return name_; }
  int size() const override { return static_cast<int>(devices_.size()); }
  Device& device(int index) override { return at(index); }
  Link link(int from, int to) const override;
  double now() override;
  RankScheduler& scheduler() override { return *scheduler_; }

  // require_own: throws BadArgument unless the span is memory of this machine. require_semaphore:
  // throws BadArgument unless the semaphore is a word that streams of `from` can signal and wait
  // for, and what require_reach() throws.
  void require_own(const Span& span, const char* what) const;
  void require_semaphore(const Semaphore& semaphore, const GpuDevice& from) const;

  // Throws Unavailable unless kernels and memory operations of `from` can address the span.
  void require_reach(const GpuDevice& from, const Span& span) const;
  bool reaches(const GpuDevice& from, const Span& span) const;

 private:
  GpuDevice& at(int index) const;
  void enable_peer_access(int from, int to);

  std::string name_;
  std::unique_ptr<RankScheduler> scheduler_;
  std::vector<std::unique_ptr<GpuDevice>> devices_;
  gpu::Peers peers_;
};

// Opens the GPUs that the text after the colon of --device names. Throws UsageError or Unavailable.
std::unique_ptr<Machine> open_gpu_machine(const std::string& argument);

}  // namespace duet::DUET_GPU
