// Moving and reducing by a host device's workers.
#include "device/host/exchange.h"

#include <algorithm>
#include <cstring>

#include "device/host/copy_bytes.h"
#include "device/reduce.h"

namespace duet::host {
namespace {

std::uint64_t* first_word(const Span& words) {
  return reinterpret_cast<std::uint64_t*>(words.data);
}

void run_slice(const ExchangeItem& item, const Exchange& exchange, const ExchangeSlice& slice) {
  const std::size_t bytes = slice.end - slice.begin;
  const std::byte* result = item.sources.front().data + slice.begin;
  if (item.sources.size() > 1) {
    std::vector<const std::byte*> inputs;
    for (const Span& source : item.sources) inputs.push_back(source.data + slice.begin);
    std::byte* const output = item.destinations.front().data + slice.begin;
    reduce(exchange.dtype, exchange.op, inputs, output, bytes / size_of(exchange.dtype));
    result = output;
  }
  for (const Span& destination : item.destinations) {
    std::byte* const to = destination.data + slice.begin;
    if (to != result) copy_bytes(to, result, bytes, Through::caches);
  }
}

}  // namespace

HostExchange::HostExchange(HostDevice& device, const Exchange& exchange)
    : device_(device), exchange_(without_blocks(exchange)) {
  check_exchange(exchange);
  const HostMachine& machine = device_.machine();
  for (const ExchangeItem& item : exchange_.items) {
    for (const Span& span : item.sources) machine.require_own(span, "source of an exchange");
    for (const Span& span : item.destinations) {
      machine.require_own(span, "destination of an exchange");
    }
    for (const Semaphore& semaphore : item.after)
      machine.require_own(semaphore.word, "awaited semaphore");
    for (const Semaphore& semaphore : item.then) machine.require_own(semaphore.word, "semaphore");
    bytes_ += item_bytes(item);
  }
  for (const Span& words : exchange_.arrivals) {
    machine.require_own(words, "peer's words");
    arrivals_.push_back(first_word(words));
  }
  for (const Span& words : exchange_.awaits) {
    machine.require_own(words, "awaited words");
    awaits_.push_back(first_word(words));
    polled_ = polled_ || machine.is_shared(words);
  }
}

void HostExchange::arrive(std::uint64_t value) const {
  for (std::uint64_t* word : arrivals_) __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

bool HostExchange::have_arrived(std::uint64_t value) const {
  return std::all_of(awaits_.begin(), awaits_.end(), [value](const std::uint64_t* word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= value;
  });
}

int HostExchange::parts_of(std::size_t bytes) const {
  return bytes >= kParallelBytes ? device_.workers().cores() : 1;
}

void HostExchange::run_items() const {
  const int parts = parts_of(bytes_);
  device_.workers().parallel(parts, [this, parts](int part) {
    for (const ExchangeItem& item : exchange_.items) {
      run_slice(item, exchange_, exchange_slice(item_bytes(item), part, parts));
    }
  });
}

void HostExchange::run_item(const ExchangeItem& item) const {
  if (item_bytes(item) == 0) return;
  const int parts = parts_of(item_bytes(item));
  device_.workers().parallel(parts, [this, &item, parts](int part) {
    run_slice(item, exchange_, exchange_slice(item_bytes(item), part, parts));
  });
}

}  // namespace duet::host
