#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "device/host/exports.h"
#include "device/host/workers.h"
#include "device/imports.h"
#include "device/machine.h"

namespace duet::host {

class HostMachine;

// Some of the CPU's cores as a device. Its workers run the operations of its streams. Any thread
// may call it.
class HostDevice : public Device {
 public:
  HostDevice(HostMachine& machine, DeviceInfo info, std::vector<int> cores);

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
  std::unique_ptr<Event> make_event(EventUse use = EventUse::timing) override;
  std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel& kernel) override;
  void read(const Span& from, void* to) override;
  void write(const Span& to, const void* from) override;
  void signal(const Semaphore& semaphore, std::uint64_t value) override;
  void finish(double deadline_seconds) override;
  std::optional<Difference> check(const Span& span, const Fill& fill) override;
  Span adopt(void* data, std::uint64_t bytes) override;
  MemoryDescriptor export_memory(const Span& span) override;
  Span import_memory(const MemoryDescriptor& descriptor) override;
  void close_import(const Span& span) noexcept override;

  HostMachine& machine() { return machine_; }
  Workers& workers() { return workers_; }

 private:
  Span acquire(std::uint64_t bytes, MemoryKind kind) override;
  void release(const Span& span) noexcept override;

  HostMachine& machine_;
  DeviceInfo info_;
  std::atomic<std::uint64_t> in_use_{0};
  Exports exports_;
  Imports imports_;
  Workers workers_;  // last, so that they end before the memory that they use is unmapped
};

// The machine of --device host:N: this process's cores, divided among N devices. A stream takes at
// most so many copies, 0: any number; one more waits until one has ended, as streams of GPUs do
// whose queues are full.
class HostMachine : public Machine {
 public:
  explicit HostMachine(int devices, std::size_t most_copies = 0);

  const std::string& name() const override { return name_; }
  int size() const override { return static_cast<int>(devices_.size()); }
  Device& device(int index) override;
  Link link(int from, int to) const override;
  double now() override;
  RankScheduler& scheduler() override { return *scheduler_; }

  void make_shareable() override { shareable_ = true; }

  // Whether device memory is allocated so that other processes can map it.
  bool shareable() const { return shareable_; }
  MachineSync& sync() { return sync_; }
  std::size_t most_copies() const { return most_copies_; }
  // Throws BadArgument unless the span is memory of one of this machine's devices. `what` names the
  // span in the message.
  void require_own(const Span& span, const char* what) const;
  // Whether another process may write to the span.
  bool is_shared(const Span& span) const;

 private:
  std::string name_;
  std::size_t most_copies_;
  std::atomic<bool> shareable_{false};
  MachineSync sync_;
  std::unique_ptr<RankScheduler> scheduler_;
  std::vector<std::unique_ptr<HostDevice>> devices_;
};

}  // namespace duet::host
