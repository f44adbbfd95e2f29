#include <algorithm>
#include <vector>

#include "device/gpu/collective_kernel.h"
#include "device/gpu/kernels.h"
#include "device/gpu/packed.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kDefaultBlocks = 16;

int default_blocks(const LocalKernel& kernel) {
  std::size_t largest = 1;
  for (const KernelItem& item : kernel.items) largest = std::max(largest, item_bytes(item));
  const std::size_t round = std::size_t{16} * kKernelThreads;
  return static_cast<int>(
      std::min(static_cast<std::size_t>(kDefaultBlocks), (largest + round - 1) / round));
}

bool waits_for_same(const LocalKernelItem& one, const LocalKernelItem& other) {
  return std::any_of(one.waits.begin(), one.waits.end(), [&other](const Semaphore& semaphore) {
    return std::any_of(
        other.waits.begin(), other.waits.end(),
        [&semaphore](const Semaphore& theirs) { return theirs.word.data == semaphore.word.data; });
  });
}

// LocalTableItem::behind: the number of leading items up to the last one before `item` that waits
// for one of the same semaphores; 0: none.
std::uint32_t items_ahead(const std::vector<LocalKernelItem>& items, std::size_t item) {
  for (std::size_t i = item; i > 0; --i) {
    if (waits_for_same(items[item], items[i - 1])) return static_cast<std::uint32_t>(i);
  }
  return 0;
}

bool waits_for_cpu_memory(const LocalKernelItem& item) {
  return std::any_of(item.waits.begin(), item.waits.end(), [](const Semaphore& semaphore) {
    return semaphore.word.kind == MemoryKind::pinned;
  });
}

// Whether vectors of 16 bytes can be added as they are.
bool is_aligned(const LocalKernel& kernel) {
  return std::all_of(kernel.items.begin(), kernel.items.end(), [](const LocalKernelItem& item) {
    return item.sources.empty() || common_width(item) == 16;
  });
}

void add_addresses(std::vector<std::uint64_t>& to, const std::vector<Span>& spans) {
  for (const Span& span : spans) to.push_back(address(span));
}

}  // namespace

GpuLocalKernel::GpuLocalKernel(GpuDevice& device, const LocalKernel& kernel)
    : GpuKernel(device), dtype_(kernel.dtype), op_(kernel.op) {
  blocks_ = kernel.blocks > 0 ? kernel.blocks : default_blocks(kernel);
  adds_in_flight_ = kernel.adds && device.adds_in_flight() && is_aligned(kernel);
  const bool one_polls = blocks_ > 1 && !kernel.semaphores_by_block;
  std::vector<gpu::LocalTableItem> items;
  std::vector<std::uint64_t> addresses;
  for (const LocalKernelItem& item : kernel.items) {
    items.push_back({item_bytes(item), static_cast<std::uint32_t>(addresses.size()),
                     static_cast<std::uint32_t>(item.sources.size()),
                     static_cast<std::uint32_t>(item.destinations.size()),
                     static_cast<std::uint32_t>(item.waits.size()),
                     static_cast<std::uint32_t>(item.signals.size()), common_width(item),
                     first_share(item, blocks_),
                     kernel.semaphores_by_block ? 0 : items_ahead(kernel.items, items.size()),
                     divisor_of(item), one_polls && waits_for_cpu_memory(item) ? 1U : 0U});
    if (!item.waits.empty() || !item.signals.empty()) {
      table_.ordered_items = static_cast<int>(items.size());
    }
    add_addresses(addresses, item.sources);
    add_addresses(addresses, item.destinations);
    for (const Semaphore& semaphore : item.waits) addresses.push_back(address(semaphore.word));
    for (const Semaphore& semaphore : item.signals) addresses.push_back(address(semaphore.word));
  }
  gpu::Packed packed;
  const std::size_t item_at = packed.add(items), address_at = packed.add(addresses),
                    finished_at = packed.add(std::vector<std::uint64_t>(items.size(), 0)),
                    passed_at = packed.add(std::vector<std::uint64_t>(1, 0)),
                    started_at = packed.add(std::vector<std::uint64_t>(1, 0));
  memory_ = device_.allocate(packed.bytes().size());
  device_.write(memory_.span(), packed.bytes().data());

  std::byte* const base = memory_.span().data;
  table_.items = reinterpret_cast<const gpu::LocalTableItem*>(base + item_at);
  table_.addresses = reinterpret_cast<unsigned char* const*>(base + address_at);
  table_.finished = reinterpret_cast<unsigned long long*>(base + finished_at);
  table_.passed = reinterpret_cast<std::uint64_t*>(base + passed_at);
  table_.started = reinterpret_cast<std::uint64_t*>(base + started_at);
  table_.item_count = static_cast<int>(items.size());
  table_.averages = kernel.op == Reduction::avg;
  table_.semaphores_by_block = kernel.semaphores_by_block;
}

void GpuLocalKernel::launch(gpuStream_t stream) const {
  if (adds_in_flight_) return launch_add_kernel(table_, dtype_, blocks_, stream);
  launch_local_kernel(table_, dtype_, op_, blocks_, stream);
}

}  // namespace duet::DUET_GPU
