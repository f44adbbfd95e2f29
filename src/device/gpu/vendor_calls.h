// What each vendor does in a way of its own: device/cuda and device/hip define these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/device.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Before the runtime's first call. Throws Unavailable where the environment cannot work.
void prepare_environment();

// Throws Unavailable where the module has no code that runs on the device, naming what to set.
void require_code(const gpuDeviceProp_t& properties);

// Why the runtime counts no devices, in one line.
std::string why_no_devices(gpuError_t error);

// Adds the number of copy engines and the details that only this vendor has.
void describe(int ordinal, const gpuDeviceProp_t& properties, DeviceInfo& info);

std::optional<Telemetry> read_telemetry(const std::string& bus);
std::optional<double> read_joules(const std::string& bus);

// A device as links know it.
struct Endpoint {
  int ordinal = 0;
  std::string bus;
};

// The direct links between two devices, as kind, count and promised rate; kind "" if the vendor's
// tools know of none, so that only PCIe is left.
Link direct_link(const Endpoint& from, const Endpoint& to);

// Memory operations of a stream, done by its front end without compute units. The wait is for
// the word >= value; the write comes after all earlier work of the stream is visible.
void stream_write(gpuStream_t stream, void* word, std::uint64_t value);
void stream_wait(gpuStream_t stream, void* word, std::uint64_t value);
// Both for words of 0 and 1, as Stream::handshake() describes.
void stream_handshake(gpuStream_t stream, const Handshake& handshake);

// In multiples of how many a device's compute units can be kept from streams; 0: not at all.
int unit_grain(int ordinal);

// Some of a device's compute units. Outlives its streams.
class UnitPartition {
 public:
  virtual ~UnitPartition() = default;
  // One that does not wait for the default stream, with the vendor's number of its priority where
  // such streams have one.
  virtual gpuStream_t make_stream(int priority) const = 0;
};

// All but `left_out` of them, a multiple of the grain.
std::unique_ptr<UnitPartition> make_partition(int ordinal, int left_out);

// Calls function(data) on a thread of the runtime's when the stream comes to it. The function must
// not call the runtime.
void stream_call(gpuStream_t stream, void (*function)(void*), void* data);

}  // namespace duet::DUET_GPU
