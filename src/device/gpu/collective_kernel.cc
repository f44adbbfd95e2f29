#include "device/gpu/collective_kernel.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/machine.h"
#include "device/gpu/peers.h"

namespace duet::DUET_GPU {
namespace {

void require_reach(const GpuDevice& device, const std::vector<Span>& spans, const char* what) {
  const GpuMachine& machine = device.machine();
  for (const Span& span : spans) {
    machine.require_own(span, what);
    machine.require_reach(device, span);
  }
}

void check_item(const GpuDevice& device, const KernelItem& item) {
  require_reach(device, item.sources, "kernel, source");
  require_reach(device, item.destinations, "kernel, destination");
}

void require_norm(const GpuDevice& device, const RowNorm& norm) {
  require_reach(device, {norm.residual, norm.updated, norm.weight}, "kernel, a norm's span");
}

// Blocks of different devices wait for each other, so all blocks of a launch must fit on the device
// at once.
void check_waiting_blocks(const GpuDevice& device, int blocks) {
  const int units = device.info().compute_units;
  if (blocks <= units) return;
  throw BadArgument(
      fmt::format("kernel: {} blocks that wait for others: expected at most {}, the compute units "
                  "of {}",
                  blocks, units, device.info().name));
}

void check(const GpuDevice& device, const LocalKernel& kernel) {
  check_kernel(kernel);
  for (const LocalKernelItem& item : kernel.items) {
    check_item(device, item);
    for (const auto* semaphores : {&item.waits, &item.signals}) {
      for (const Semaphore& each : *semaphores) {
        require_reach(device, {each.word}, "kernel, a semaphore");
      }
    }
  }
  if (has_semaphores(kernel)) check_waiting_blocks(device, kernel.blocks);
}

void check(const GpuDevice& device, const PeerKernel& kernel) {
  check_kernel(kernel);
  for (const KernelItem& item : kernel.items) check_item(device, item);
  require_reach(device, kernel.arrivals, "kernel, a peer's semaphores");
  require_reach(device, kernel.awaits, "kernel, awaited semaphores");
  if (kernel.awaits.size() > kKernelThreads) {
    throw BadArgument(
        fmt::format("kernel: {} peers: expected at most {}, one thread of a block for each",
                    kernel.awaits.size(), kKernelThreads));
  }
  if (!kernel.awaits.empty()) check_waiting_blocks(device, kernel.blocks);
}

void check(const GpuDevice& device, const PacketKernel& kernel) {
  check(device, kernel.barrier);
  check_kernel(kernel);
  require_reach(device, {kernel.source, kernel.destination}, "kernel, the rank's own part");
  for (const PacketPeer& peer : kernel.peers) {
    require_reach(device, {peer.source, peer.destination}, "kernel, a part for packets");
    require_reach(device, {peer.to_peer, peer.from_peer}, "kernel, a packet buffer");
  }
  if (kernel.norm) require_norm(device, *kernel.norm);
}

void check(const GpuDevice& device, const NormKernel& kernel) {
  check_kernel(kernel);
  require_reach(device, kernel.sources, "kernel, a norm's source");
  require_reach(device, {kernel.result}, "kernel, a norm's result");
  require_norm(device, kernel.norm);
}

std::unique_ptr<GpuKernel> make(GpuDevice& device, const LocalKernel& kernel) {
  return std::make_unique<GpuLocalKernel>(device, kernel);
}

std::unique_ptr<GpuKernel> make(GpuDevice& device, const PeerKernel& kernel) {
  if (kernel.awaits.empty()) return make(device, without_peers(kernel));
  return std::make_unique<GpuPeerKernel>(device, kernel);
}

std::unique_ptr<GpuKernel> make(GpuDevice& device, const PacketKernel& kernel) {
  return std::make_unique<GpuPacketKernel>(device, kernel);
}

std::unique_ptr<GpuKernel> make(GpuDevice& device, const NormKernel& kernel) {
  return std::make_unique<GpuNormKernel>(device, kernel);
}

}  // namespace

std::uint32_t common_width(const KernelItem& item) {
  std::uintptr_t apart = 0;
  for (const auto* spans : {&item.sources, &item.destinations}) {
    for (const Span& span : *spans) apart |= address(span) ^ address(item.sources.front());
  }
  return apart % 16 == 0 ? 16 : apart % 4 == 0 ? 4 : 1;
}

std::uint32_t first_share(const KernelItem& item, int blocks) {
  return static_cast<std::uint32_t>((block_slice(item_bytes(item), 0, blocks).end + 15) / 16);
}

std::unique_ptr<GpuKernel> prepare_kernel(GpuDevice& device, const CollectiveKernel& kernel) {
  return std::visit(
      [&device](const auto& each) {
        check(device, each);
        return make(device, each);
      },
      kernel);
}

}  // namespace duet::DUET_GPU
