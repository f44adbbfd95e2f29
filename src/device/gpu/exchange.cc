// What an exchange may touch, and which kernel it is for.
#include "device/gpu/exchange.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/local_exchange.h"
#include "device/gpu/machine.h"
#include "device/gpu/peer_exchange.h"
#include "device/gpu/peers.h"
#include "device/gpu/staged_exchange.h"

namespace duet::DUET_GPU {
namespace {

// Blocks that meet wait for each other across devices: all of a launch must be able to run at once.
void check(const GpuDevice& device, const Exchange& exchange) {
  check_exchange(exchange);
  const GpuMachine& machine = device.machine();
  const auto reach = [&](const std::vector<Span>& spans, const char* what) {
    for (const Span& span : spans) {
      machine.require_own(span, what);
      machine.require_reach(device, span);
    }
  };
  for (const ExchangeItem& item : exchange.items) {
    reach(item.sources, "exchange, source");
    reach(item.destinations, "exchange, destination");
    for (const auto* semaphores : {&item.after, &item.then}) {
      for (const Semaphore& semaphore : *semaphores)
        reach({semaphore.word}, "exchange, a semaphore");
    }
  }
  reach(exchange.arrivals, "exchange, a peer's words");
  reach(exchange.awaits, "exchange, awaited words");
  if (exchange.staged) {
    const Staged& staged = *exchange.staged;
    reach({staged.source, staged.destination}, "exchange, what stays");
    for (const StagedPeer& peer : staged.peers) {
      reach({peer.source, peer.destination}, "exchange, a staged part");
      reach({peer.outbox, peer.inbox}, "exchange, staging memory");
    }
  }
  if (exchange.awaits.size() > kExchangeThreads) {
    throw BadArgument(
        fmt::format("exchange: {} peers: expected at most {}, a thread of a block each",
                    exchange.awaits.size(), kExchangeThreads));
  }
  const int units = device.info().compute_units;
  if ((!exchange.awaits.empty() || has_semaphores(exchange)) && exchange.blocks > units) {
    throw BadArgument(
        fmt::format("exchange: {} blocks that wait for others: expected at most {}, the "
                    "compute units of {}",
                    exchange.blocks, units, device.info().name));
  }
}

}  // namespace

std::uint32_t common_width(const ExchangeItem& item) {
  std::uintptr_t apart = 0;
  for (const auto* spans : {&item.sources, &item.destinations}) {
    for (const Span& span : *spans) apart |= address(span) ^ address(item.sources.front());
  }
  return apart % 16 == 0 ? 16 : apart % 4 == 0 ? 4 : 1;
}

std::uint32_t first_share(const ExchangeItem& item, int blocks) {
  return static_cast<std::uint32_t>((exchange_slice(item_bytes(item), 0, blocks).end + 15) / 16);
}

std::unique_ptr<GpuExchange> prepare_exchange(GpuDevice& device, const Exchange& exchange) {
  check(device, exchange);
  if (exchange.awaits.empty()) return std::make_unique<LocalExchange>(device, exchange);
  if (exchange.staged) return std::make_unique<StagedExchange>(device, exchange);
  return std::make_unique<PeerExchange>(device, exchange);
}

}  // namespace duet::DUET_GPU
