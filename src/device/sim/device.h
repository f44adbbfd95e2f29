#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"
#include "device/sim/dispatcher.h"
#include "device/sim/platform.h"

namespace duet::sim {

class SimMachine;
class SimStream;

class SimDevice : public Device {
 public:
  SimDevice(SimMachine& machine, DeviceInfo info, int index);

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
  std::unique_ptr<Event> make_event(EventUse use = EventUse::timing) override;
  std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel& kernel) override;
  void read(const Span& from, void* to) override;
  void write(const Span& to, const void* from) override;
  void signal(const Semaphore& semaphore, std::uint64_t value) override;
  bool has_contents(const Span& span) const override;
  std::optional<Difference> check(const Span& span, const Fill& fill) override;

  SimMachine& machine() { return machine_; }
  const DeviceModel& model() const;
  int index() const { return index_; }

  // DMA engines go to streams in the order in which they asked. True if one was free; else the
  // stream's engine_granted() is called later.
  bool take_engine(SimStream* stream);
  void return_engine();
  void stop_waiting_for_engine(SimStream* stream);
  Dispatcher& dispatcher() { return dispatcher_; }
  // The network card of the next copy to another node; -1 where each copy is split over all.
  int next_rail();

 private:
  Span acquire(std::uint64_t bytes, MemoryKind kind) override;
  void release(const Span& span) noexcept override;

  SimMachine& machine_;
  DeviceInfo info_;
  int index_;
  int free_engines_;
  int next_rail_ = 0;
  Dispatcher dispatcher_;
  std::deque<SimStream*> waiting_for_engine_;
};

}  // namespace duet::sim
