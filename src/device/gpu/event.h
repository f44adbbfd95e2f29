#pragma once

#include <cstdint>
#include <memory>

#include "device/event.h"
#include "device/gpu/device.h"

namespace duet::DUET_GPU {

// A place in a stream that is no stream of the runtime's: reached when the word is at least
// `value`.
struct EventMark {
  std::shared_ptr<std::uint64_t> word;  // pinned memory; nullptr: no mark
  std::uint64_t value = 0;
};

class GpuEvent : public Event {
 public:
  GpuEvent(GpuDevice& device, EventUse use) : device_(&device), use_(use) {}
  ~GpuEvent() override;
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  bool done() override;
  void synchronize(double deadline_seconds) override;
  double seconds_since(const Event& earlier) const override;

  // Records on a stream of `device`. The vendor's events belong to one device; if this event was
  // recorded on another device before, it is created again on `device`.
  void record(GpuDevice& device, gpuStream_t stream);
  void record(GpuDevice& device, EventMark mark);

  GpuMachine& machine() const { return device_->machine(); }
  // Of its last record(): one of both, or neither if it was never recorded.
  gpuEvent_t handle() const { return mark_.word == nullptr ? handle_ : nullptr; }
  const EventMark& mark() const { return mark_; }

 private:
  void destroy() noexcept;

  GpuDevice* device_;  // the device on which it was last recorded
  EventUse use_;
  gpuEvent_t handle_ = nullptr;  // the vendor's, once it was recorded on a stream
  EventMark mark_;
};

}  // namespace duet::DUET_GPU
