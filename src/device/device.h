// The interface of a device. host, cuda, hip and sim implement it. Code above this folder uses all
// of them in the same way.
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

// The vendor's runtime that owns a device's memory, as other libraries need to know it.
enum class GpuRuntime { none, cuda, hip };

struct DeviceInfo {
  std::string name;     // "cuda:0", "host:1", "sim:mi300x-8:3"
  std::string kind;     // "cuda", "hip", "host", "sim"
  bool is_cpu = false;  // cores of this host, which its program shares
  GpuRuntime gpu_runtime = GpuRuntime::none;
  std::string model;      // "NVIDIA H200"
  std::string bus;        // PCI address; "" if there is none
  int ordinal = -1;       // its number in the vendor's runtime; -1: there is none
  int numa_node = -1;     // -1: unknown
  int compute_units = 0;  // SMs, CUs, cores
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;  // last-level cache in front of device memory
  int copy_engines = 0;           // 0: unknown
  int priorities = 1;             // distinct stream priorities; priority is clamped to 0..n-1
  // A stream can be restricted to fewer compute units, which leaves out a multiple of this number.
  // 0: streams cannot be restricted.
  int unit_grain = 0;
  bool cpu_addressable = false;  // the CPU may use Span::data of device memory
  // If a NIC writes to device memory and then signals, streams that wait for the signal see the
  // data.
  bool network_writes_ordered = false;
  // A kernel that runs sees what other devices write to its memory meanwhile.
  bool kernels_see_peer_writes = false;
  // Each device of its node has a link of its own to it. Otherwise all reach it through a switch.
  bool link_per_peer = false;
  std::map<std::string, std::string> details;  // further rows of `duet info`

  bool is_gpu() const { return gpu_runtime != GpuRuntime::none; }  // of this machine, not simulated
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

// The difference between memory and the result of a fill.
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

  // Throws Unavailable if the device cannot restrict streams to some of its compute units, and
  // BadArgument if it cannot restrict one to `options.units`.
  virtual std::unique_ptr<Stream> make_stream(const StreamOptions& options = {}) = 0;
  virtual std::unique_ptr<Event> make_event(EventUse use = EventUse::timing) = 0;

  // The user's own stream (cudaStream_t, hipStream_t; nullptr: the default stream) as a Stream of
  // this device. The user keeps it, and may destroy it when its work is done. Throws BadArgument if
  // it was made on another device, Unavailable if the device has only streams of make_stream().
  virtual std::unique_ptr<Stream> wrap(void* native);

  // Uninitialised memory, aligned to 256 bytes. Pageable memory is aligned to host_alignment(),
  // except on simulated devices. 0 bytes give an empty buffer. Throws OutOfMemory, after which the
  // device stays usable.
  Buffer allocate(std::uint64_t bytes, MemoryKind kind = MemoryKind::device);
  // Device memory in which kernels and streams of this device see what other devices write while
  // they run: for semaphores, packets and staging slots. On AMD GPUs plain device memory is
  // coherent with other devices only between kernels.
  Buffer allocate_coherent(std::uint64_t bytes);

  // The user's own memory as a span of this device; the user keeps and frees it. Throws BadArgument
  // if it is no memory of this device, Unavailable if the device works on memory of allocate()
  // only.
  virtual Span adopt(void* data, std::uint64_t bytes);

  // The descriptor by which another process can map the allocations of a span of device memory,
  // which must outlive the mappings. Throws Unavailable with the reason.
  virtual MemoryDescriptor export_memory(const Span& span);
  // Frees the resources that export_memory() keeps until other processes have mapped the memory.
  // Call it when all have.
  virtual void close_export(const MemoryDescriptor&) noexcept {}
  // Maps another process's memory. Streams of this device can copy to and from it, signal and wait
  // for semaphores in it. Its kind is MemoryKind::peer, its owner this device. Throws Unavailable
  // with the reason.
  virtual Span import_memory(const MemoryDescriptor& descriptor);
  // Ends a use of a span of import_memory(). No stream may use it any more.
  virtual void close_import(const Span&) noexcept {}

  // Exports a span of device memory for the drivers of other devices. Throws Unavailable with the
  // reason.
  virtual Dmabuf export_dmabuf(const Span& span);

  // A span as the CPU can address it while the view exists: pinned and pageable memory in place,
  // memory of a GPU over the bus, where each load is a round trip. Throws Unavailable with the
  // reason.
  std::unique_ptr<CpuView> view(const Span& span);

  // Binds a kernel to its spans, for streams of this device. The call blocks: it may allocate
  // memory, upload data and load code. Throws BadArgument as check_kernel() does and for spans of
  // another machine, Unavailable if the compute units cannot access a span.
  virtual std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel& kernel) = 0;

  // Whether a LocalKernel that adds to a peer's memory adds where the bytes arrive, without reading
  // them first.
  virtual bool adds_in_flight() const { return false; }

  // Whether PacketKernels may have a norm.
  virtual bool normalises_packets() const { return false; }

  // Blocking access of the CPU to a span, for setup and verification. It waits for no stream:
  // synchronise streams first. Throws BadArgument if the span has no contents.
  virtual void read(const Span& from, void* to) = 0;
  virtual void write(const Span& to, const void* from) = 0;

  // Writes a semaphore from the CPU, visible to streams that wait. Never waits for a stream.
  virtual void signal(const Semaphore& semaphore, std::uint64_t value) = 0;

  // False for memory of a simulated machine that has a size but no contents.
  virtual bool has_contents(const Span& span) const { return span.data != nullptr; }

  // The engine that a stream of this device uses for a copy by Executor::sdma, such as "SDMA 2 of
  // hip:0". It stays the same for the pair of devices. Throws Unavailable if there is none, or if
  // the device does not let Duet choose.
  virtual std::string copy_engine(const Copy& copy);

  // Returns when the device has completed the work of all its streams, destroyed ones included.
  // (On host devices a destroyed stream has dropped its work that had not started, and a stream
  // that waits for an event of such a stream is not waited for. Simulated ones do not wait: work
  // goes on only while ranks wait.) Throws Timeout.
  virtual void finish(double deadline_seconds);

  // Compares a span, on the device, with what Stream::fill() would write; blocking. Returns nullopt
  // if they are equal. Throws BadArgument for normal fills, which differ between devices in the
  // last place. Averages of digits may differ by the rounding of another order (device/digits.h);
  // all other comparisons are exact.
  virtual std::optional<Difference> check(const Span& span, const Fill& fill) = 0;

  // nullopt if the device has no telemetry.
  virtual std::optional<Telemetry> telemetry() { return std::nullopt; }
  // Telemetry::joules alone, cheap enough to be read every few milliseconds. Any thread may call
  // it. nullopt if the device has no counter.
  virtual std::optional<double> joules() { return std::nullopt; }

 private:
  friend class Buffer;
  // The view of device memory that the CPU cannot address directly.
  virtual std::unique_ptr<CpuView> view_own(const Span& span);
  virtual Span acquire(std::uint64_t bytes, MemoryKind kind) = 0;
  virtual Span acquire_coherent(std::uint64_t bytes) { return acquire(bytes, MemoryKind::device); }
  virtual void release(const Span& span) noexcept = 0;
};

// Throws as make_stream() does for StreamOptions::units = `units`.
void check_units(const DeviceInfo& info, int units);

// How one device of a machine reaches another.
struct Link {
  std::string kind;          // "NVLink", "xGMI", "PCIe", "memory", "none"
  int count = 0;             // parallel links; 0: unknown
  double gb_per_s = 0;       // of the hardware's specification, one direction; 0: unknown
  bool peer_access = false;  // kernels and copy engines reach the peer's memory directly
  bool shared = false;       // a device reaches all its peers through this one link to a switch
  bool beyond_node = false;  // the peer is in another node, reached through a network
};

}  // namespace duet
