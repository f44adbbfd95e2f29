#include "device/gpu/event.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "device/gpu/polling.h"

namespace duet::DUET_GPU {
namespace {

bool reached(gpuEvent_t event) {
  const gpuError_t result = GPU(EventQuery)(event);
  if (result == GPU(ErrorNotReady)) {
    forget(result);
    return false;
  }
  DUET_GPU_CHECK(result);
  return true;
}

}  // namespace

GpuEvent::~GpuEvent() { destroy(); }

void GpuEvent::destroy() noexcept {
  if (handle_ == nullptr) return;
  forget(GPU(SetDevice)(device_->ordinal()));
  forget(GPU(EventDestroy)(handle_));
  handle_ = nullptr;
}

void GpuEvent::record(GpuDevice& device, gpuStream_t stream) {
  if (device_ != &device) {
    destroy();
    device_ = &device;
  }
  device.use();
  mark_ = {};
  if (handle_ == nullptr) {
    const unsigned flags = use_ == EventUse::timing ? GPU(EventDefault) : GPU(EventDisableTiming);
    DUET_GPU_CHECK(GPU(EventCreateWithFlags)(&handle_, flags));
  }
  DUET_GPU_CHECK(GPU(EventRecord)(handle_, stream));
}

void GpuEvent::record(GpuDevice& device, EventMark mark) {
  if (device_ != &device) {
    destroy();
    device_ = &device;
  }
  mark_ = std::move(mark);
}

bool GpuEvent::done() {
  if (mark_.word != nullptr) {
    return __atomic_load_n(mark_.word.get(), __ATOMIC_ACQUIRE) >= mark_.value;
  }
  if (handle_ == nullptr) return true;
  device_->use();
  return reached(handle_);
}

void GpuEvent::synchronize(double deadline_seconds) {
  gpu::wait_until(fmt::format("an event of {}", device_->info().name), deadline_seconds,
                  [this] { return done(); });
}

double GpuEvent::seconds_since(const Event& earlier) const {
  const auto* from = dynamic_cast<const GpuEvent*>(&earlier);
  if (from == nullptr || from->device_ != device_) {
    throw BadArgument("seconds_since: the events were recorded on different devices");
  }
  if (use_ != EventUse::timing || from->use_ != EventUse::timing) {
    throw BadArgument("seconds_since: an event that only orders streams");
  }
  if (mark_.word != nullptr || from->mark_.word != nullptr) {
    throw BadArgument("seconds_since: an event of a stream for engines has no time");
  }
  if (handle_ == nullptr || from->handle_ == nullptr) {
    throw BadArgument("seconds_since: an event was never recorded");
  }
  device_->use();
  if (!reached(from->handle_) || !reached(handle_)) {
    throw BadArgument("seconds_since: an event was not reached yet");
  }
  float milliseconds = 0;
  DUET_GPU_CHECK(GPU(EventElapsedTime)(&milliseconds, from->handle_, handle_));
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace duet::DUET_GPU
