// Packing an exchange's table into one allocation.
#include "device/gpu/local_exchange.h"

#include <algorithm>
#include <vector>

#include "device/gpu/kernels.h"
#include "device/gpu/packed.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kDefaultBlocks = 16;

int default_blocks(const Exchange& exchange) {
  std::size_t largest = 1;
  for (const ExchangeItem& item : exchange.items) largest = std::max(largest, item_bytes(item));
  const std::size_t round = std::size_t{16} * kExchangeThreads;
  return static_cast<int>(
      std::min(static_cast<std::size_t>(kDefaultBlocks), (largest + round - 1) / round));
}

bool waits_for_same(const ExchangeItem& one, const ExchangeItem& other) {
  return std::any_of(one.after.begin(), one.after.end(), [&other](const Semaphore& semaphore) {
    return std::any_of(
        other.after.begin(), other.after.end(),
        [&semaphore](const Semaphore& theirs) { return theirs.word.data == semaphore.word.data; });
  });
}

// How many items are up to the last one before `item` that waits for one of its semaphores; 0:
// none.
std::uint32_t items_ahead(const std::vector<ExchangeItem>& items, std::size_t item) {
  for (std::size_t i = item; i > 0; --i) {
    if (waits_for_same(items[item], items[i - 1])) return static_cast<std::uint32_t>(i);
  }
  return 0;
}

void add_addresses(std::vector<std::uint64_t>& to, const std::vector<Span>& spans) {
  for (const Span& span : spans) to.push_back(address(span));
}

}  // namespace

LocalExchange::LocalExchange(GpuDevice& device, const Exchange& exchange)
    : GpuExchange(device), dtype_(exchange.dtype), op_(exchange.op) {
  blocks_ = exchange.blocks > 0 ? exchange.blocks : default_blocks(exchange);
  std::vector<gpu::TableItem> items;
  std::vector<std::uint64_t> addresses;
  for (const ExchangeItem& item : exchange.items) {
    items.push_back({item_bytes(item), static_cast<std::uint32_t>(addresses.size()),
                     static_cast<std::uint32_t>(item.sources.size()),
                     static_cast<std::uint32_t>(item.destinations.size()),
                     static_cast<std::uint32_t>(item.after.size()),
                     static_cast<std::uint32_t>(item.then.size()), common_width(item),
                     first_share(item, blocks_),
                     exchange.semaphores_by_block ? 0 : items_ahead(exchange.items, items.size())});
    if (!item.after.empty() || !item.then.empty()) {
      table_.last_turn = static_cast<int>(items.size());
    }
    add_addresses(addresses, item.sources);
    add_addresses(addresses, item.destinations);
    for (const Semaphore& semaphore : item.after) addresses.push_back(address(semaphore.word));
    for (const Semaphore& semaphore : item.then) addresses.push_back(address(semaphore.word));
  }
  gpu::Packed packed;
  const std::size_t item_at = packed.add(items), address_at = packed.add(addresses),
                    finished_at = packed.add(std::vector<std::uint64_t>(items.size(), 0)),
                    passed_at = packed.add(std::vector<std::uint64_t>(1, 0));
  memory_ = device_.allocate(packed.bytes().size());
  device_.write(memory_.span(), packed.bytes().data());

  std::byte* const base = memory_.span().data;
  table_.items = reinterpret_cast<const gpu::TableItem*>(base + item_at);
  table_.addresses = reinterpret_cast<unsigned char* const*>(base + address_at);
  table_.finished = reinterpret_cast<unsigned long long*>(base + finished_at);
  table_.passed = reinterpret_cast<std::uint64_t*>(base + passed_at);
  table_.item_count = static_cast<int>(items.size());
  table_.averages = exchange.op == Reduction::avg;
  table_.semaphores_by_block = exchange.semaphores_by_block;
}

void LocalExchange::launch(gpuStream_t stream) const {
  launch_exchange(table_, dtype_, op_, blocks_, stream);
}

}  // namespace duet::DUET_GPU
