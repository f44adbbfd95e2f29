#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "device/gpu/kernels.h"
#include "device/gpu/machine.h"
#include "device/gpu/stream.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kBlock = 512;  // threads; each keeps 8 x 16 bytes in flight
constexpr std::size_t kVectorBytes = 16;

// At least bandwidth x latency bytes must be in flight. A block of 512 threads has 64 KiB in
// flight, so the grids below have several times as many.
//
//   route            bandwidth   latency   bytes in flight
//   link to a peer   450 GB/s    1.5 us    0.7 MB
//   local memory     4.8 TB/s    1 us      5 MB
//   PCIe             64 GB/s     2 us      0.13 MB
int default_grid(const Copy& copy, int block, int compute_units) {
  int grid = compute_units;
  if (gpu::is_host_memory(copy.source) || gpu::is_host_memory(copy.destination)) {
    grid = std::min(compute_units, 32);
  } else if (copy.source.owner == copy.destination.owner &&
             copy.source.kind == copy.destination.kind) {
    grid = 2 * compute_units;
  }
  const std::size_t block_bytes = static_cast<std::size_t>(block) * kVectorBytes;
  const std::size_t needed = (copy.source.bytes + block_bytes - 1) / block_bytes;
  return static_cast<int>(std::min(static_cast<std::size_t>(grid), needed));
}

}  // namespace

void check_copy(const Copy& copy, const GpuDevice& device) {
  device.machine().require_own(copy.destination, "copy, destination");
  device.machine().require_own(copy.source, "copy, source");
  if (copy.destination.bytes != copy.source.bytes) {
    throw BadArgument(
        fmt::format("copy: {} bytes to {} bytes", copy.source.bytes, copy.destination.bytes));
  }
  if (copy.destination.owner != &device && copy.source.owner != &device) {
    throw BadArgument(fmt::format("copy: neither side is {}'s", device.info().name));
  }
  if (copy.shape.grid < 0 || copy.shape.block < 0 || copy.shape.block > device.max_block()) {
    throw BadArgument(fmt::format("copy: a grid of {} x {}: expected at most {} threads a block",
                                  copy.shape.grid, copy.shape.block, device.max_block()));
  }
}

void GpuStream::copy(const Copy& copy) {
  check_copy(copy, device_);
  if (copy.source.bytes == 0) return;
  device_.use();
  switch (copy.executor) {
    case Executor::dma:
      return copy_by_engine(copy);
    case Executor::sdma:
      return device_.engine_copies().copy(copy, stream_);
    case Executor::kernel:
      return copy_by_kernel(copy);
    case Executor::host:
      return copy_by_host(copy);
  }
}

// - With peer access: the plain call on a stream of one side uses that side's copy engine, which
//   addresses the peer's memory directly.
// - Without peer access: the peer call lets the driver stage the data through the host.
// - Within one device's memory the driver chooses how to copy and uses compute units at least in
//   part.
void GpuStream::copy_by_engine(const Copy& copy) {
  const GpuMachine& machine = device_.machine();
  const auto &to = copy.destination, &from = copy.source;
  const bool between_devices =
      !gpu::is_host_memory(to) && !gpu::is_host_memory(from) && to.owner != from.owner;
  const bool direct = machine.reaches(device_, to) && machine.reaches(device_, from);
  if (!between_devices || direct) {
    DUET_GPU_CHECK(GPU(MemcpyAsync)(to.data, from.data, to.bytes, GPU(MemcpyDefault), stream_));
    return;
  }
  const int to_ordinal = static_cast<const GpuDevice*>(to.owner)->ordinal();
  const int from_ordinal = static_cast<const GpuDevice*>(from.owner)->ordinal();
  DUET_GPU_CHECK(
      GPU(MemcpyPeerAsync)(to.data, to_ordinal, from.data, from_ordinal, to.bytes, stream_));
}

void GpuStream::copy_by_kernel(const Copy& copy) {
  device_.machine().require_reach(device_, copy.destination);
  device_.machine().require_reach(device_, copy.source);
  Copy shaped = copy;
  if (shaped.shape.block == 0) shaped.shape.block = kBlock;
  if (copy.shape.one_warp_per_sm) {
    shaped.shape.grid = device_.info().compute_units;
  } else if (shaped.shape.grid == 0) {
    shaped.shape.grid = default_grid(copy, shaped.shape.block, device_.info().compute_units);
  }
  launch_copy(shaped, stream_);
}

void GpuStream::copy_by_host(const Copy& copy) {
  if (!gpu::is_host_memory(copy.destination) || !gpu::is_host_memory(copy.source)) {
    throw Unavailable("the host executor needs both sides in host memory");
  }
  call_on_host(stream_, [to = copy.destination.data, from = copy.source.data,
                         bytes = copy.source.bytes] { std::memcpy(to, from, bytes); });
}

}  // namespace duet::DUET_GPU
