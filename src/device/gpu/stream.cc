#include "device/gpu/stream.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/contents.h"
#include "device/digits.h"
#include "device/gpu/collective_kernel.h"
#include "device/gpu/event.h"
#include "device/gpu/kernels.h"
#include "device/gpu/machine.h"
#include "device/gpu/polling.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {
namespace {

void check_elements(const Span& span, const Fill& fill) {
  const std::size_t size = size_of(fill.dtype);
  const bool elements =
      fill.kind == FillKind::normal || fill.kind == FillKind::unit || is_digits(fill);
  if (elements && reinterpret_cast<std::uintptr_t>(span.data) % size != 0) {
    throw BadArgument(
        fmt::format("fill: elements of {} must be aligned to {} bytes", name(fill.dtype), size));
  }
}

}  // namespace

GpuEvent& own_event(Event& event, const GpuDevice& device) {
  auto* own = dynamic_cast<GpuEvent*>(&event);
  if (own == nullptr || &own->machine() != &device.machine()) {
    throw BadArgument(
        fmt::format("{}: the event is not of {}", device.info().name, device.machine().name()));
  }
  return *own;
}

bool stream_idle(gpuStream_t stream) {
  const gpuError_t result = GPU(StreamQuery)(stream);
  if (result == GPU(ErrorNotReady)) {
    forget(result);
    return false;
  }
  DUET_GPU_CHECK(result);
  return true;
}

GpuStream::GpuStream(GpuDevice& device, const StreamOptions& options, int number)
    : device_(device),
      name_(fmt::format("stream {} of {}", number, device.info().name)),
      stream_(device.create_stream(options)) {}

GpuStream::GpuStream(GpuDevice& device, gpuStream_t users)
    : device_(device),
      name_(fmt::format("the user's stream of {}", device.info().name)),
      stream_(users),
      owned_(false) {}

// Pending work completes; the runtime frees the stream after it.
GpuStream::~GpuStream() {
  if (!owned_) return;
  forget(GPU(SetDevice)(device_.ordinal()));
  forget(GPU(StreamDestroy)(stream_));
}

void GpuStream::fill(const Span& span, const Fill& fill) {
  device_.machine().require_own(span, "fill");
  check_elements(span, fill);
  if (span.bytes == 0) return;
  device_.use();
  if (span.kind == MemoryKind::pageable) {
    call_on_host(stream_, [span, fill] { write_fill(fill, span.data, 0, span.bytes); });
    return;
  }
  device_.machine().require_reach(device_, span);
  launch_fill(span, fill, stream_);
}

void GpuStream::record(Event& event) { own_event(event, device_).record(device_, stream_); }

void GpuStream::wait(Event& event) {
  const GpuEvent& own = own_event(event, device_);
  device_.use();
  if (own.mark().word != nullptr) {
    stream_wait(stream_, own.mark().word.get(), own.mark().value);
    return;
  }
  if (own.handle() == nullptr) return;
  DUET_GPU_CHECK(GPU(StreamWaitEvent)(stream_, own.handle(), 0));
}

void GpuStream::signal(const Semaphore& semaphore, std::uint64_t value) {
  device_.machine().require_semaphore(semaphore, device_);
  device_.use();
  stream_write(stream_, semaphore.word.data, value);
}

void GpuStream::wait(const Semaphore& semaphore, std::uint64_t value) {
  device_.machine().require_semaphore(semaphore, device_);
  device_.use();
  stream_wait(stream_, semaphore.word.data, value);
}

void GpuStream::handshake(const Handshake& handshake) {
  for (const Semaphore& semaphore : handshake.signals)
    device_.machine().require_semaphore(semaphore, device_);
  for (const Semaphore& semaphore : handshake.waits)
    device_.machine().require_semaphore(semaphore, device_);
  device_.use();
  stream_handshake(stream_, handshake);
}

void GpuStream::launch(PreparedKernel& prepared) {
  const auto* own = dynamic_cast<const GpuKernel*>(&prepared);
  if (own == nullptr || &own->device() != &device_) {
    throw BadArgument(fmt::format("{}: another device's kernel", device_.info().name));
  }
  device_.use();
  own->launch(stream_);
}

void GpuStream::push_commands(const CommandPushes& pushes) {
  device_.use();
  launch_pushes(pushes, stream_);
}

void GpuStream::run(const Task& task) {
  throw Unavailable(fmt::format("{} runs only its own kernels, not the function '{}'",
                                device_.info().name, task.name));
}

bool GpuStream::idle() {
  device_.use();
  const bool idle = stream_idle(stream_);
  if (idle) device_.rethrow_copy_error();
  return idle;
}

void GpuStream::synchronize(double deadline_seconds) {
  device_.use();
  gpu::wait_until(name_, deadline_seconds, [this] { return stream_idle(stream_); });
  device_.rethrow_copy_error();
}

}  // namespace duet::DUET_GPU
