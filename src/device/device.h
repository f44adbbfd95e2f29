// What Duet needs of a device. host, cuda, hip and sim implement it; what stands above this folder
// drives them alike.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/buffer.h"
#include "device/collective_kernel.h"
#include "device/cpu_view.h"
#include "device/dmabuf.h"
#include "device/event.h"
#include "device/memory_descriptor.h"
#include "device/stream.h"

namespace duet {

struct DeviceInfo {
  std::string name;       // "cuda:0", "host:1", "sim:mi300x-8:3"
  std::string kind;       // "cuda", "hip", "host", "sim"
  std::string model;      // "NVIDIA H200"
  std::string bus;        // PCI address or "" where there is none
  int ordinal = -1;       // its number in the vendor's runtime; -1: there is none
  int numa_node = -1;     // -1: unknown
  int compute_units = 0;  // SMs, CUs, cores
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;  // last-level cache in front of device memory
  int copy_engines = 0;           // 0: unknown
  int priorities = 1;             // distinct stream priorities; priority is clamped to 0..n-1
  int unit_grain = 0;  // streams can be kept off multiples of this many compute units; 0: of none
  bool cpu_addressable = false;                // the CPU may follow Span::data of device memory
  std::map<std::string, std::string> details;  // what else `duet info` shows
};

struct Telemetry {
  double watts = 0;
  double watts_limit = 0;
  double compute_mhz = 0;
  double memory_mhz = 0;
  double celsius = 0;
  double joules = 0;     // energy counter since an unknown start; 0: there is none
  std::string throttle;  // reasons as text, "" if none
};

// How memory differs from what a fill would have left there.
struct Difference {
  std::uint64_t count = 0;         // bytes that differ; of digits: elements
  std::uint64_t first_offset = 0;  // in bytes from the span's start
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Makes the device the calling thread's current one, for libraries that use the vendor runtime's
  // current device. Does nothing on other devices.
  virtual void make_current() {}

  // Throws Unavailable where the device cannot restrict streams to some of its compute units, and
  // BadArgument where it cannot restrict one to `options.units`.
  virtual std::unique_ptr<Stream> make_stream(const StreamOptions& options = {}) = 0;
  virtual std::unique_ptr<Event> make_event(EventUse use = EventUse::timing) = 0;

  // The user's own stream (cudaStream_t, hipStream_t; nullptr: the default stream) as a Stream of
  // this device, on which it must have been made. The user keeps it and destroys it after the
  // wrapper. Throws Unavailable where the device has no streams but Duet's.
  virtual std::unique_ptr<Stream> wrap(void* native);

  // Uninitialised memory, aligned to 256 bytes; pageable memory, but for a simulated device's, as
  // host_alignment() says. 0 bytes give an empty buffer. After OutOfMemory the device stays usable.
  Buffer allocate(std::uint64_t bytes, MemoryKind kind = MemoryKind::device);

  // The user's own memory as a span of this device; the user keeps and frees it. Throws BadArgument
  // where it is no memory of this device, Unavailable where the device works on its own memory
  // only.
  virtual Span adopt(void* data, std::uint64_t bytes);

  // Memory between processes. All throw Unavailable with the reason.
  // export_memory(): the descriptor by which another process can map the allocations of a span of
  // device memory. close_export() frees what is held for processes that have yet to map it; call it
  // when all have. The memory must outlive its mappings.
  // import_memory(): another process's memory, which streams of this device can copy to and from,
  // signal and wait for. Its kind is MemoryKind::peer, its owner this device. close_import() takes
  // such a span when no stream uses it any more.
  virtual MemoryDescriptor export_memory(const Span& span);
  virtual void close_export(const MemoryDescriptor&) noexcept {}
  virtual Span import_memory(const MemoryDescriptor& descriptor);
  virtual void close_import(const Span&) noexcept {}

  // A span of device memory for the drivers of other devices. Throws Unavailable with the reason.
  virtual Dmabuf export_dmabuf(const Span& span);

  // A span as the CPU can address it while the view exists: pinned and pageable memory in place, a
  // GPU's own memory over the bus, where each load is a round trip. Throws Unavailable with the
  // reason.
  std::unique_ptr<CpuView> view(const Span& span);

  // Binds a kernel to its spans, for streams of this device; blocking: it may allocate, upload
  // and load. Throws BadArgument for what does not fit (device/collective_kernel.h), Unavailable
  // where a span is out of the compute units' reach.
  virtual std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel& kernel) = 0;

  // Blocking access of the CPU to a span, for setting up and verifying; ordered after nothing:
  // synchronise the streams first. Throws BadArgument where the span has no contents.
  virtual void read(const Span& from, void* to) = 0;
  virtual void write(const Span& to, const void* from) = 0;

  // Host-side write of a semaphore, visible to streams that wait. Never blocks on them.
  virtual void signal(const Semaphore& semaphore, std::uint64_t value) = 0;

  // False for memory of a simulated machine that is only accounted for.
  virtual bool has_contents(const Span& span) const { return span.data != nullptr; }

  // Returns when the device has done all that streams were given, also those that are destroyed by
  // now. Streams of host and simulated devices take with them what has not begun. Throws Timeout.
  virtual void finish(double deadline_seconds);

  // Compares device-side with what fill() would write; blocking; nullopt if equal. Not for normal
  // fills, of which devices differ in the last place (BadArgument). Averages of digits may be off
  // by what rounding them in another order makes (device/digits.h); all else is exact.
  virtual std::optional<Difference> check(const Span& span, const Fill& fill) = 0;

  virtual std::optional<Telemetry> telemetry() { return std::nullopt; }
  // Telemetry::joules alone, for who reads it every few milliseconds; any thread may. nullopt:
  // none.
  virtual std::optional<double> joules() { return std::nullopt; }

 private:
  friend class Buffer;
  // Of device memory that the CPU does not follow as it is.
  virtual std::unique_ptr<CpuView> view_own(const Span& span);
  virtual Span acquire(std::uint64_t bytes, MemoryKind kind) = 0;
  virtual void release(const Span& span) noexcept = 0;
};

// Throws what make_stream() does for so many units.
void check_units(const DeviceInfo& info, int units);

// How one device of a machine reaches another.
struct Link {
  std::string kind;          // "NVLink", "xGMI", "PCIe", "memory", "none"
  int count = 0;             // parallel links; 0: unknown
  double gb_per_s = 0;       // one direction, as the hardware promises; 0: unknown
  bool peer_access = false;  // kernels and copy engines reach the peer's memory directly
  bool shared = false;       // a device reaches all its peers through this one link, by a switch
  bool beyond_node = false;  // through a network
};

}  // namespace duet
