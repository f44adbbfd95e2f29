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

// A device of a simulated machine. Only the running rank may call it (scheduler.h).
class SimDevice : public Device {
 public:
  SimDevice(SimMachine& machine, DeviceInfo info, int index);

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
  std::unique_ptr<Event> make_event(EventUse use = EventUse::timing) override;
  std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel& kernel) override;
  bool adds_in_flight() const override { return model().kernel.add_rate > 0; }
  void read(const Span& from, void* to) override;
  void write(const Span& to, const void* from) override;
  void signal(const Semaphore& semaphore, std::uint64_t value) override;
  bool has_contents(const Span& span) const override;
  std::optional<Difference> check(const Span& span, const Fill& fill) override;

  SimMachine& machine() { return machine_; }
  const DeviceModel& model() const;
  int index() const { return index_; }

  // Takes a DMA engine for the stream and returns true. If none is free, returns false and later
  // calls the stream's engine_granted(), for one stream after another in the order of their calls.
  bool take_engine(SimStream* stream);
  void return_engine();
  void stop_waiting_for_engine(SimStream* stream);
  Dispatcher& dispatcher() { return dispatcher_; }
  // The number of the NIC for the next copy to another node; -1 if each copy is split over all
  // NICs.
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
