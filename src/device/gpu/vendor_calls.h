// Functions that differ between the vendors, defined in device/cuda and device/hip.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/device.h"
#include "device/device_health.h"
#include "device/gpu/local_kernel_table.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

class GpuDevice;

// Sets environment variables. Called before the runtime's first call. Throws Unavailable where a
// user's setting prevents Duet from working.
void prepare_environment();

// Throws Unavailable where the module has no code that runs on the device. The message names the
// build option to set.
void require_code(const gpuDeviceProp_t& properties);

// The reason why the runtime finds no devices, in one line.
std::string why_no_devices(gpuError_t error);

// Adds the number of copy engines and this vendor's own details to `info`.
void describe(int ordinal, const gpuDeviceProp_t& properties, DeviceInfo& info);

std::optional<Telemetry> read_telemetry(const std::string& bus);
std::optional<DeviceHealth> read_health(const std::string& bus);
std::vector<std::uint64_t> read_new_xids(const std::string& bus);
std::optional<double> read_joules(const std::string& bus);

// A device at one end of a link: the runtime's number and the PCI address.
struct LinkEnd {
  int ordinal = 0;
  std::string bus;
};

// The direct links between two devices: kind, number and nominal rate. The kind is "" if the
// vendor's tools report no direct link; the devices then communicate over PCIe.
Link direct_link(const LinkEnd& from, const LinkEnd& to);

// Memory operations of a stream, which its front end executes without compute units. stream_wait()
// waits until *word >= value. stream_write() writes after the effects of all earlier work of the
// stream are visible.
void stream_write(gpuStream_t stream, void* word, std::uint64_t value);
void stream_wait(gpuStream_t stream, void* word, std::uint64_t value);
// Signals and waits for words of 0 and 1 as Stream::handshake() specifies.
void stream_handshake(gpuStream_t stream, const Handshake& handshake);

// Copies by engines that Duet chooses (Executor::sdma) on streams of one device, which must be its
// GPU's current one. Any thread may call it.
class EngineCopies {
 public:
  virtual ~EngineCopies() = default;
  // As Device::copy_engine().
  virtual std::string engine_of(const Copy& copy) = 0;
  // Enqueues the copy. Throws Unavailable where it cannot be made so.
  virtual void copy(const Copy& copy, gpuStream_t stream) = 0;
  // Throws the error of a copy that failed, once.
  virtual void rethrow() = 0;
};

// Throws Unavailable with the reason.
std::unique_ptr<EngineCopies> make_engine_copies(GpuDevice& device);

// As EngineStreams::make_engine_stream(). `number` is for its name.
std::unique_ptr<Stream> make_engine_stream(GpuDevice& device, const StreamOptions& options,
                                           int number);

// Called with a captured graph, before it is instantiated: replaces nodes that the vendor's runtime
// replays slowly by others that do the same.
void prepare_graph(gpuGraph_t graph);

// Loads the kernels of launch_add_kernel() on the current device. Returns false where the device
// cannot add in flight; nothing is loaded then.
bool load_add_kernels(const gpuDeviceProp_t& properties);
// A LocalKernel that adds. The addresses of each item are equal modulo 16.
void launch_add_kernel(const gpu::LocalKernelTable& table, DType dtype, int blocks,
                       gpuStream_t stream);

// The granularity of partitions: the number of compute units that is withheld from a stream must be
// a multiple of this number. 0: the device cannot be partitioned.
int unit_grain(int ordinal);

// A part of a device's compute units. Must outlive the streams that it makes.
class UnitPartition {
 public:
  virtual ~UnitPartition() = default;
  // A stream that does not synchronise with the default stream. `priority` is the vendor's number;
  // it is ignored where streams of partitions have no priority.
  virtual gpuStream_t make_stream(int priority) const = 0;
};

// A partition of all compute units but `left_out`, which must be a multiple of unit_grain().
std::unique_ptr<UnitPartition> make_partition(int ordinal, int left_out);

// The runtime's number of the device on which a stream was made, which is no default stream.
int device_of(gpuStream_t stream);

// Enqueues a call of function(data), which a thread of the runtime makes in stream order. The
// function must not call the runtime.
void stream_call(gpuStream_t stream, void (*function)(void*), void* data);

}  // namespace duet::DUET_GPU
