// Binding an exchange to GPU memory: what it may touch, and its table.
#include "device/gpu/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "device/gpu/kernels.h"
#include "device/gpu/machine.h"
#include "device/gpu/peers.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kDefaultBlocks = 16;

std::uintptr_t address(const Span& span) { return reinterpret_cast<std::uintptr_t>(span.data); }

// Heads and tails of less than a vector are moved by narrower words.
std::uint32_t common_width(const ExchangeItem& item) {
  std::uintptr_t apart = 0;
  for (const auto* spans : {&item.sources, &item.destinations}) {
    for (const Span& span : *spans) apart |= address(span) ^ address(item.sources.front());
  }
  return apart % 16 == 0 ? 16 : apart % 4 == 0 ? 4 : 1;
}

int default_blocks(const Exchange& exchange) {
  std::size_t largest = 1;
  for (const ExchangeItem& item : exchange.items) largest = std::max(largest, item_bytes(item));
  const std::size_t round = std::size_t{16} * kExchangeThreads;
  return static_cast<int>(
      std::min(static_cast<std::size_t>(kDefaultBlocks), (largest + round - 1) / round));
}

// The parts of the table side by side in what becomes one allocation.
class Packed {
 public:
  template <typename Value>
  std::size_t add(const std::vector<Value>& values) {
    static_assert(sizeof(Value) % 8 == 0, "parts stay aligned to 8 bytes");
    const std::size_t offset = bytes_.size();
    const auto* data = reinterpret_cast<const std::byte*>(values.data());
    bytes_.insert(bytes_.end(), data, data + values.size() * sizeof(Value));
    return offset;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

void add_addresses(std::vector<std::uint64_t>& to, const std::vector<Span>& spans) {
  for (const Span& span : spans) to.push_back(address(span));
}

}  // namespace

GpuExchange::GpuExchange(GpuDevice& device, const Exchange& exchange)
    : device_(device), dtype_(exchange.dtype), op_(exchange.op) {
  check(exchange);
  blocks_ = exchange.blocks > 0 ? exchange.blocks : default_blocks(exchange);
  std::vector<gpu::TableItem> items;
  std::vector<std::uint64_t> addresses, arrivals, awaits;
  for (const ExchangeItem& item : exchange.items) {
    items.push_back({item_bytes(item), static_cast<std::uint32_t>(addresses.size()),
                     static_cast<std::uint32_t>(item.sources.size()),
                     static_cast<std::uint32_t>(item.destinations.size()),
                     static_cast<std::uint32_t>(item.after.size()),
                     static_cast<std::uint32_t>(item.then.size()), common_width(item)});
    add_addresses(addresses, item.sources);
    add_addresses(addresses, item.destinations);
    for (const Flag& flag : item.after) addresses.push_back(address(flag.word));
    for (const Flag& flag : item.then) addresses.push_back(address(flag.word));
  }
  add_addresses(arrivals, exchange.arrivals);
  add_addresses(awaits, exchange.awaits);
  Packed packed;
  const std::size_t item_at = packed.add(items), address_at = packed.add(addresses),
                    arrival_at = packed.add(arrivals), await_at = packed.add(awaits),
                    calls_at = packed.add(
                        std::vector<std::uint64_t>(static_cast<std::size_t>(blocks_), 0)),
                    finished_at = packed.add(std::vector<std::uint64_t>(items.size(), 0));
  memory_ = device_.allocate(packed.bytes().size());
  device_.write(memory_.span(), packed.bytes().data());

  std::byte* const base = memory_.span().data;
  table_.items = reinterpret_cast<const gpu::TableItem*>(base + item_at);
  table_.addresses = reinterpret_cast<unsigned char* const*>(base + address_at);
  table_.arrivals = reinterpret_cast<std::uint64_t* const*>(base + arrival_at);
  table_.awaits = reinterpret_cast<std::uint64_t* const*>(base + await_at);
  table_.calls = reinterpret_cast<std::uint64_t*>(base + calls_at);
  table_.finished = reinterpret_cast<unsigned long long*>(base + finished_at);
  table_.item_count = static_cast<int>(items.size());
  table_.peers = static_cast<int>(awaits.size());
  table_.averages = exchange.op == Reduction::avg;
}

// Blocks that meet wait for each other across devices: all of a launch must be able to run at once.
void GpuExchange::check(const Exchange& exchange) const {
  check_exchange(exchange);
  const GpuMachine& machine = device_.machine();
  const auto reach = [&](const std::vector<Span>& spans, const char* what) {
    for (const Span& span : spans) {
      machine.require_own(span, what);
      machine.require_reach(device_, span);
    }
  };
  for (const ExchangeItem& item : exchange.items) {
    reach(item.sources, "exchange, source");
    reach(item.destinations, "exchange, destination");
    for (const Flag& flag : item.after) machine.require_flag(flag, device_);
    for (const Flag& flag : item.then) machine.require_flag(flag, device_);
  }
  reach(exchange.arrivals, "exchange, a peer's words");
  reach(exchange.awaits, "exchange, awaited words");
  const int units = device_.info().compute_units;
  if ((!exchange.awaits.empty() || has_flags(exchange)) && exchange.blocks > units) {
    throw BadArgument(
        fmt::format("exchange: {} blocks that wait for others: expected at most {}, the "
                    "compute units of {}",
                    exchange.blocks, units, device_.info().name));
  }
}

void GpuExchange::launch(gpuStream_t stream) const {
  launch_exchange(table_, dtype_, op_, blocks_, stream);
}

}  // namespace duet::DUET_GPU
