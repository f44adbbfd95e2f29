#include "device/gpu/machine.h"

#include <fmt/format.h>

#include <chrono>

#include "core/clock.h"
#include "core/error.h"
#include "device/gpu/properties.h"
#include "device/gpu/selection.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {

GpuMachine::GpuMachine(std::string name, const std::vector<int>& ordinals)
    : name_(std::move(name)),
      scheduler_(make_thread_scheduler()),
      peers_(static_cast<int>(ordinals.size())) {
  for (const int ordinal : ordinals) {
    devices_.push_back(std::make_unique<GpuDevice>(*this, size(), ordinal));
  }
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) {
      if (from != to) enable_peer_access(from, to);
    }
  }
}

void GpuMachine::enable_peer_access(int from, int to) {
  const int here = at(from).ordinal(), there = at(to).ordinal();
  if (here == there) return;  // ranks that share a GPU
  std::string& obstacle = peers_.obstacle(from, to);
  int possible = 0;
  DUET_GPU_CHECK(GPU(DeviceCanAccessPeer)(&possible, here, there));
  if (possible == 0) {
    obstacle = "the hardware or its set-up does not allow it";
    return;
  }
  use_device(here);
  const gpuError_t result = GPU(DeviceEnablePeerAccess)(there, 0);
  forget(result);
  if (result != GPU(Success) && result != GPU(ErrorPeerAccessAlreadyEnabled)) {
    obstacle = GPU(GetErrorString)(result);
  }
}

GpuDevice& GpuMachine::at(int index) const {
  if (index < 0 || index >= size()) {
    throw BadArgument(fmt::format("{}: device {} of {}", name_, index, size()));
  }
  return *devices_[static_cast<std::size_t>(index)];
}

Link GpuMachine::link(int from, int to) const {
  const GpuDevice &source = at(from), &destination = at(to);
  if (source.ordinal() == destination.ordinal()) {
    return {"memory", 1, memory_gb_per_s(source.ordinal()), true};
  }
  const std::string &here = source.info().bus, &there = destination.info().bus;
  Link link = direct_link({source.ordinal(), here}, {destination.ordinal(), there});
  if (link.kind.empty()) {
    link = {"PCIe", 1, std::min(pcie_gb_per_s(here), pcie_gb_per_s(there)), false, true};
  }
  link.peer_access = peers_.access(from, to);
  return link;
}

double GpuMachine::now() { return steady_now(); }

void GpuMachine::require_own(const Span& span, const char* what) const {
  const auto* owner = dynamic_cast<const GpuDevice*>(span.owner);
  if (owner == nullptr || &owner->machine() != this) {
    throw BadArgument(fmt::format("{}: the span is not memory of {}", what, name_));
  }
  if (span.data == nullptr && span.bytes > 0) {
    throw BadArgument(fmt::format("{}: the span has no contents", what));
  }
}

void GpuMachine::require_semaphore(const Semaphore& semaphore, const GpuDevice& from) const {
  require_own(semaphore.word, "semaphore");
  if (semaphore.word.bytes != sizeof(std::uint64_t) ||
      reinterpret_cast<std::uintptr_t>(semaphore.word.data) % sizeof(std::uint64_t) != 0) {
    throw BadArgument("semaphore: expected one word of 8 bytes, aligned to 8");
  }
  if (semaphore.word.kind == MemoryKind::pageable) {
    throw BadArgument("semaphore: expected device or pinned memory");
  }
  require_reach(from, semaphore.word);
}

bool GpuMachine::reaches(const GpuDevice& from, const Span& span) const {
  if (gpu::is_host_memory(span)) return span.kind == MemoryKind::pinned;
  // An imported mapping belongs to the device that mapped it, whichever GPU has the memory.
  return peers_.access(from.index(), static_cast<const GpuDevice*>(span.owner)->index());
}

void GpuMachine::require_reach(const GpuDevice& from, const Span& span) const {
  if (reaches(from, span)) return;
  if (span.kind == MemoryKind::pageable) {
    throw Unavailable("kernels cannot access pageable memory: expected pinned memory");
  }
  const auto* owner = static_cast<const GpuDevice*>(span.owner);
  throw Unavailable(fmt::format("no peer access from {} to {}: {}", from.info().name,
                                owner->info().name, peers_.obstacle(from.index(), owner->index())));
}

std::unique_ptr<Machine> open_gpu_machine(const std::string& argument) {
  const std::vector<int> named = gpu::parse_selection(DUET_GPU_NAME, argument);
  prepare_environment();
  int count = 0;
  const gpuError_t result = GPU(GetDeviceCount)(&count);
  forget(result);
  if (result != GPU(Success) || count == 0) throw Unavailable(why_no_devices(result));
  const std::vector<int> ordinals = gpu::select_devices(DUET_GPU_NAME, named, count);
  const std::string name = argument.empty() ? DUET_GPU_NAME : DUET_GPU_NAME ":" + argument;
  return std::make_unique<GpuMachine>(name, ordinals);
}

}  // namespace duet::DUET_GPU
