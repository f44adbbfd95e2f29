// Laying out a table of moves and reductions.
#include "device/gpu/peer_exchange.h"

#include <algorithm>
#include <vector>

#include "device/gpu/kernels.h"

namespace duet::DUET_GPU {

PeerExchange::PeerExchange(GpuDevice& device, const Exchange& exchange)
    : GpuExchange(device), dtype_(exchange.dtype), op_(exchange.op), blocks_(exchange.blocks) {
  for (const ExchangeItem& item : exchange.items) {
    if (item_bytes(item) == 0) continue;
    if (item.sources.size() == 1) {
      add_moves(item);
    } else {
      add_reduction(item);
    }
    table_.writes_out =
        table_.writes_out || std::any_of(item.destinations.begin(), item.destinations.end(),
                                         [this](const Span& span) { return is_elsewhere(span); });
  }
  for (std::size_t i = 0; i < exchange.awaits.size(); ++i) {
    table_.arrivals[i] = reinterpret_cast<std::uint64_t*>(exchange.arrivals[i].data);
    table_.awaits[i] = reinterpret_cast<std::uint64_t*>(exchange.awaits[i].data);
  }
  table_.peers = static_cast<int>(exchange.awaits.size());
  table_.averages = exchange.op == Reduction::avg;
  table_.opens = exchange.opens;
  table_.closes = exchange.closes;
  const std::vector<std::uint64_t> zeros(static_cast<std::size_t>(blocks_), 0);
  calls_ = device_.allocate(zeros.size() * sizeof zeros[0]);
  device_.write(calls_.span(), zeros.data());
  table_.calls = reinterpret_cast<std::uint64_t*>(calls_.span().data);
}

std::uint8_t PeerExchange::add_address(const Span& span) {
  table_.addresses[addresses_] = reinterpret_cast<unsigned char*>(span.data);
  return static_cast<std::uint8_t>(addresses_++);
}

void PeerExchange::add_moves(const ExchangeItem& item) {
  const Span& source = item.sources.front();
  const std::uint8_t from = add_address(source);
  for (const Span& destination : item.destinations) {
    if (destination.data == source.data) continue;
    const std::uint32_t width = common_width({{source}, {destination}});
    table_.moves[table_.move_count++] = {item_bytes(item), first_share(item, blocks_), from,
                                         add_address(destination),
                                         static_cast<std::uint8_t>(width)};
  }
}

void PeerExchange::add_reduction(const ExchangeItem& item) {
  gpu::PeerReduction& reduction = table_.reductions[table_.reduction_count++];
  reduction = {item_bytes(item),
               first_share(item, blocks_),
               static_cast<std::uint8_t>(addresses_),
               static_cast<std::uint8_t>(item.sources.size()),
               static_cast<std::uint8_t>(item.destinations.size()),
               static_cast<std::uint8_t>(common_width(item))};
  for (const Span& source : item.sources) add_address(source);
  for (const Span& destination : item.destinations) add_address(destination);
}

// Where a peer may read it while this kernel runs, or right after.
bool PeerExchange::is_elsewhere(const Span& span) const {
  return span.kind != MemoryKind::device || span.owner != &device_;
}

void PeerExchange::launch(gpuStream_t stream) const {
  launch_peer_exchange(table_, dtype_, op_, blocks_, stream);
}

}  // namespace duet::DUET_GPU
