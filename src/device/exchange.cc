// What every device asks of an exchange before it prepares it.
#include "device/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "device/reduce.h"

namespace duet {
namespace {

std::size_t misalignment(const Span& span, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(span.data) % alignment;
}

void check_elements(const Span& span, DType dtype) {
  const std::size_t size = size_of(dtype);
  if (span.bytes % size == 0 && misalignment(span, size) == 0) return;
  throw BadArgument(
      fmt::format("exchange: a reduction of {}: expected spans of whole elements, "
                  "aligned to {} bytes",
                  name(dtype), size));
}

void require_reducible(DType dtype) {
  if (is_reducible(dtype)) return;
  throw BadArgument(
      fmt::format("exchange: a reduction of {}: expected fp32, fp16, bf16 or int32", name(dtype)));
}

bool has_semaphores(const ExchangeItem& item) { return !item.after.empty() || !item.then.empty(); }

void check_item(const ExchangeItem& item, const Exchange& exchange) {
  const bool is_bare = item.sources.empty() && item.destinations.empty();
  if (is_bare && has_semaphores(item)) return;
  if (item.sources.empty() || item.destinations.empty()) {
    throw BadArgument("exchange: an item of no sources or no destinations");
  }
  const bool reduces = item.sources.size() > 1;
  if (reduces) require_reducible(exchange.dtype);
  for (const auto* spans : {&item.sources, &item.destinations}) {
    for (const Span& span : *spans) {
      if (span.bytes != item_bytes(item)) {
        throw BadArgument(fmt::format("exchange: spans of {} and {} bytes in one item",
                                      item_bytes(item), span.bytes));
      }
      if (reduces) check_elements(span, exchange.dtype);
    }
  }
}

void check_words(const Span& words, int blocks) {
  const std::size_t expected = static_cast<std::size_t>(blocks) * sizeof(std::uint64_t);
  if (words.bytes == expected && misalignment(words, sizeof(std::uint64_t)) == 0) return;
  throw BadArgument(
      fmt::format("exchange: words of {} bytes: expected {} for {} blocks, aligned "
                  "to 8",
                  words.bytes, expected, blocks));
}

void check_staged_span(const Span& span, std::size_t bytes, std::size_t alignment) {
  if (span.bytes == bytes && misalignment(span, alignment) == 0) return;
  throw BadArgument(fmt::format("exchange: a staged span of {} bytes: expected {}, aligned to {}",
                                span.bytes, bytes, alignment));
}

void check_staged(const Staged& staged, const Exchange& exchange) {
  const std::size_t bytes = staged.source.bytes;
  if (bytes == 0 || bytes % kStagedUnit != 0 || bytes > kMostStaged) {
    throw BadArgument(
        fmt::format("exchange: staged parts of {} bytes: expected multiples of {}, "
                    "at most {}",
                    bytes, kStagedUnit, kMostStaged));
  }
  const std::size_t peers = staged.peers.size();
  if (peers == 0 || peers != exchange.awaits.size() || peers > kMostStagedPeers) {
    throw BadArgument(fmt::format("exchange: staged parts of {} peers: expected all {}, at most {}",
                                  peers, exchange.awaits.size(), kMostStagedPeers));
  }
  if (staged.reduces) require_reducible(exchange.dtype);
  check_staged_span(staged.source, bytes, kStagedUnit);
  check_staged_span(staged.destination, bytes, kStagedUnit);
  for (const StagedPeer& peer : staged.peers) {
    check_staged_span(peer.source, bytes, kStagedUnit);
    check_staged_span(peer.destination, bytes, kStagedUnit);
    check_staged_span(peer.outbox, staging_bytes(bytes), 2 * kStagedUnit);
    check_staged_span(peer.inbox, staging_bytes(bytes), 2 * kStagedUnit);
  }
}

}  // namespace

bool has_semaphores(const Exchange& exchange) {
  return std::any_of(exchange.items.begin(), exchange.items.end(),
                     [](const ExchangeItem& item) { return has_semaphores(item); });
}

Exchange without_blocks(Exchange exchange) {
  for (ExchangeItem& item : exchange.items) {
    for (auto* semaphores : {&item.after, &item.then}) {
      for (Semaphore& semaphore : *semaphores)
        semaphore.word = semaphore.word.slice(0, sizeof(std::uint64_t));
    }
  }
  exchange.semaphores_by_block = false;
  return exchange;
}

void check_exchange(const Exchange& exchange) {
  for (const ExchangeItem& item : exchange.items) check_item(item, exchange);
  if (exchange.blocks < 0) throw BadArgument("exchange: expected a number of blocks from 0");
  if (exchange.arrivals.size() != exchange.awaits.size()) {
    throw BadArgument(
        fmt::format("exchange: words of {} peers to write and of {} to await: "
                    "expected as many",
                    exchange.arrivals.size(), exchange.awaits.size()));
  }
  if (!exchange.awaits.empty() && has_semaphores(exchange)) {
    throw BadArgument("exchange: items with semaphores: expected an exchange without peers");
  }
  if (!exchange.awaits.empty() && exchange.blocks == 0) {
    throw BadArgument("exchange: with peers, expected a number of blocks that all agree on");
  }
  if (exchange.semaphores_by_block && exchange.blocks == 0) {
    throw BadArgument("exchange: with semaphores by block, expected a number of blocks");
  }
  for (const ExchangeItem& item : exchange.items) {
    const int words = exchange.semaphores_by_block ? exchange.blocks : 1;
    for (const Semaphore& semaphore : item.after) check_words(semaphore.word, words);
    for (const Semaphore& semaphore : item.then) check_words(semaphore.word, words);
  }
  for (const Span& words : exchange.arrivals) check_words(words, exchange.blocks);
  for (const Span& words : exchange.awaits) check_words(words, exchange.blocks);
  if (exchange.staged) check_staged(*exchange.staged, exchange);
}

}  // namespace duet
