#include "device/gpu/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "core/error.h"
#include "device/contents.h"
#include "device/gpu/collective_kernel.h"
#include "device/gpu/event.h"
#include "device/gpu/kernels.h"
#include "device/gpu/machine.h"
#include "device/gpu/polling.h"
#include "device/gpu/properties.h"
#include "device/gpu/sharing_calls.h"
#include "device/gpu/stream.h"
#include "device/gpu/vendor.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {
namespace {

// Every blocking access of a working device is faster than this, whatever its size.
constexpr double kServiceDeadlineSeconds = 120;
// The handles of the default streams, which are of whichever device is the current one, are 0 to
// this.
constexpr std::uintptr_t kLastDefaultStream = 2;

}  // namespace

GpuDevice::GpuDevice(GpuMachine& machine, int index, int ordinal)
    : machine_(machine),
      index_(index),
      ordinal_(ordinal),
      imports_(
          [ordinal](const MemoryDescriptor& descriptor) {
            return map_exported(ordinal, descriptor);
          },
          [ordinal](std::byte* data, const MemoryDescriptor& descriptor) {
            unmap_exported(ordinal, data, descriptor);
          }) {
  use();
  gpuDeviceProp_t properties{};
  DUET_GPU_CHECK(GPU(GetDeviceProperties)(&properties, ordinal));
  require_code(properties);
  info_ = device_info(ordinal, properties);
  max_block_ = properties.maxThreadsPerBlock;
  load_copy_kernels();
  load_fill_kernels();
  load_digit_kernels();
  load_local_kernels();
  load_peer_kernels();
  load_packet_kernels();
  blocks_share_rows_ = load_norm_kernels();
  load_push_kernel();
  adds_in_flight_ = load_add_kernels(properties);
  service_ = create_stream({info_.priorities - 1});  // not behind kernels that wait for units
  signals_ = create_stream({info_.priorities - 1});
  DUET_GPU_CHECK(GPU(Malloc)(reinterpret_cast<void**>(&found_), sizeof *found_));
}

GpuDevice::~GpuDevice() {
  forget(GPU(SetDevice)(ordinal_));
  engine_copies_.reset();
  forget(GPU(Free)(found_));
  for (const gpuStream_t stream : {service_, signals_}) {
    if (stream != nullptr) forget(GPU(StreamDestroy)(stream));
  }
}

gpuStream_t GpuDevice::create_stream(const StreamOptions& options) {
  check_units(info_, options.units);
  use();
  int least = 0, greatest = 0;  // the vendor's numbers: a lower number is a higher priority
  DUET_GPU_CHECK(GPU(DeviceGetStreamPriorityRange)(&least, &greatest));
  const int priority = least - std::clamp(options.priority, 0, info_.priorities - 1);
  if (options.units > 0 && options.units < info_.compute_units) {
    const std::lock_guard lock(partitions_mutex_);
    const int left_out = info_.compute_units - options.units;
    std::unique_ptr<UnitPartition>& partition = partitions_[left_out];
    if (partition == nullptr) partition = make_partition(ordinal_, left_out);
    return partition->make_stream(priority);
  }
  gpuStream_t stream = nullptr;
  DUET_GPU_CHECK(GPU(StreamCreateWithPriority)(&stream, GPU(StreamNonBlocking), priority));
  return stream;
}

std::unique_ptr<Stream> GpuDevice::make_stream(const StreamOptions& options) {
  return std::make_unique<GpuStream>(*this, options, streams_made_++);
}

std::unique_ptr<Stream> GpuDevice::make_engine_stream(const StreamOptions& options) {
  return DUET_GPU::make_engine_stream(*this, options, streams_made_++);
}

std::unique_ptr<Stream> GpuDevice::wrap(void* native) {
  const auto stream = static_cast<gpuStream_t>(native);
  if (reinterpret_cast<std::uintptr_t>(native) > kLastDefaultStream) {
    const int made_on = device_of(stream);
    if (made_on != ordinal_) {
      throw BadArgument(fmt::format("expected a stream of {} (device {}), not of device {}",
                                    info_.name, ordinal_, made_on));
    }
  }
  return std::make_unique<GpuStream>(*this, stream);
}

std::unique_ptr<Event> GpuDevice::make_event(EventUse use) {
  return std::make_unique<GpuEvent>(*this, use);
}

std::unique_ptr<PreparedKernel> GpuDevice::prepare(const CollectiveKernel& kernel) {
  return prepare_kernel(*this, kernel);
}

EngineCopies& GpuDevice::engine_copies() {
  const std::lock_guard<std::mutex> lock(engine_copies_mutex_);
  if (engine_copies_ == nullptr) engine_copies_ = make_engine_copies(*this);
  return *engine_copies_;
}

void GpuDevice::rethrow_copy_error() {
  const std::lock_guard<std::mutex> lock(engine_copies_mutex_);
  if (engine_copies_ != nullptr) engine_copies_->rethrow();
}

std::string GpuDevice::copy_engine(const Copy& copy) {
  machine_.require_own(copy.destination, "copy, destination");
  machine_.require_own(copy.source, "copy, source");
  return engine_copies().engine_of(copy);
}

std::optional<Telemetry> GpuDevice::telemetry() { return read_telemetry(info_.bus); }

std::optional<DeviceHealth> GpuDevice::health() { return read_health(info_.bus); }

std::vector<std::uint64_t> GpuDevice::new_xids() { return read_new_xids(info_.bus); }

std::optional<double> GpuDevice::joules() { return read_joules(info_.bus); }

void GpuDevice::drain(gpuStream_t stream, const char* what) const {
  gpu::wait_until(fmt::format("{} of {}", what, info_.name), kServiceDeadlineSeconds,
                  [stream] { return stream_idle(stream); });
}

// Waits for the stream after the call: from pageable memory the runtime's call returns once the
// bytes are staged, before they have arrived.
void GpuDevice::transfer(void* to, const void* from, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(service_mutex_);
  use();
  DUET_GPU_CHECK(GPU(MemcpyAsync)(to, from, bytes, GPU(MemcpyDefault), service_));
  drain(service_, "blocking access to memory");
}

// The vendor's call has no deadline, so a separate thread makes it. After the deadline that thread
// is left running.
void GpuDevice::finish(double deadline_seconds) {
  const auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([done, ordinal = ordinal_] {
    forget(GPU(SetDevice)(ordinal));
    forget(GPU(DeviceSynchronize)());
    *done = true;
  }).detach();
  gpu::wait_until("all work of " + info_.name, deadline_seconds, [&done] { return done->load(); });
}

void GpuDevice::read(const Span& from, void* to) {
  machine_.require_own(from, "read");
  if (from.bytes == 0) return;
  if (!gpu::is_host_memory(from)) return transfer(to, from.data, from.bytes);
  std::memcpy(to, from.data, from.bytes);
}

void GpuDevice::write(const Span& to, const void* from) {
  machine_.require_own(to, "write");
  if (to.bytes == 0) return;
  if (!gpu::is_host_memory(to)) return transfer(to.data, from, to.bytes);
  std::memcpy(to.data, from, to.bytes);
}

void GpuDevice::signal(const Semaphore& semaphore, std::uint64_t value) {
  machine_.require_semaphore(semaphore, *this);
  if (semaphore.word.kind == MemoryKind::pinned) {
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(semaphore.word.data), value,
                     __ATOMIC_RELEASE);
    return;
  }
  const std::lock_guard<std::mutex> lock(signal_mutex_);
  use();
  stream_write(signals_, semaphore.word.data, value);
  drain(signals_, "a signal from the host");
}

std::optional<Difference> GpuDevice::check(const Span& span, const Fill& fill) {
  machine_.require_own(span, "check");
  if (fill.kind == FillKind::normal)
    throw BadArgument("check: normal fills differ from device to device");
  if (span.bytes == 0) return std::nullopt;
  if (span.kind == MemoryKind::pageable) {
    const Difference found = compare_fill(fill, span.data, 0, span.bytes);
    return found.count > 0 ? std::optional<Difference>(found) : std::nullopt;
  }
  machine_.require_reach(*this, span);
  return search([&] { launch_check(span, fill, found_, service_); });
}

std::optional<Difference> GpuDevice::compare_spans(const Span& span, const Span& other) {
  for (const Span& each : {span, other}) {
    machine_.require_own(each, "compare");
    machine_.require_reach(*this, each);
  }
  return search([&] { launch_compare(span, other, found_, service_); });
}

// The result of a kernel that `launch` enqueues on the service stream to write found_.
std::optional<Difference> GpuDevice::search(const std::function<void()>& launch) {
  Difference result;
  const std::lock_guard<std::mutex> lock(service_mutex_);
  use();
  DUET_GPU_CHECK(GPU(MemsetAsync)(&found_->count, 0, sizeof result.count, service_));
  DUET_GPU_CHECK(
      GPU(MemsetAsync)(&found_->first_offset, 0xFF, sizeof result.first_offset, service_));
  launch();
  DUET_GPU_CHECK(GPU(MemcpyAsync)(&result, found_, sizeof result, GPU(MemcpyDefault), service_));
  drain(service_, "check");
  if (result.count == 0) return std::nullopt;
  return result;
}

std::string place_in_source(const char* place) {
  const std::string text = place;
  const std::size_t root = text.rfind("src/");
  return root == std::string::npos ? text : text.substr(root + 4);
}

void throw_gpu_error(gpuError_t error, const char* call, const char* place) {
  forget(error);
  const std::string message = fmt::format("{}: {} ({}) at {}", call, GPU(GetErrorString)(error),
                                          GPU(GetErrorName)(error), place_in_source(place));
  if (error == GPU(ErrorMemoryAllocation)) throw OutOfMemory(message);
  if (error == GPU(ErrorStreamCaptureUnsupported)) throw Unavailable(message);
  throw Error(message);
}

void forget(gpuError_t error) noexcept {
  if (error != GPU(Success)) static_cast<void>(GPU(GetLastError)());
}

void use_device(int ordinal) { DUET_GPU_CHECK(GPU(SetDevice)(ordinal)); }

}  // namespace duet::DUET_GPU
