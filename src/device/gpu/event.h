#pragma once

#include "device/event.h"
#include "device/gpu/device.h"

namespace duet::DUET_GPU {

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

  GpuMachine& machine() const { return device_->machine(); }
  gpuEvent_t handle() const { return handle_; }  // nullptr if never recorded

 private:
  void destroy() noexcept;

  GpuDevice* device_;  // the device on which it was last recorded
  EventUse use_;
  gpuEvent_t handle_ = nullptr;
};

}  // namespace duet::DUET_GPU
