#include "device/host/kernel.h"

#include <algorithm>
#include <cstring>

#include "device/host/copy_bytes.h"
#include "device/reduce.h"

namespace duet::host {
namespace {

std::uint64_t* first_word(const Span& words) {
  return reinterpret_cast<std::uint64_t*>(words.data);
}

// Copies or reduces one slice of an item.
void run_slice(const KernelItem& item, const LocalKernel& kernel, const BlockSlice& slice) {
  const std::size_t bytes = slice.end - slice.begin;
  const std::byte* result = item.sources.front().data + slice.begin;
  if (item.sources.size() > 1) {
    std::vector<const std::byte*> inputs;
    for (const Span& source : item.sources) inputs.push_back(source.data + slice.begin);
    std::byte* const output = item.destinations.front().data + slice.begin;
    reduce(kernel.dtype, kernel.op, inputs, output, bytes / size_of(kernel.dtype), item.divisor);
    result = output;
  }
  for (const Span& destination : item.destinations) {
    std::byte* const to = destination.data + slice.begin;
    if (to != result) copy_bytes(to, result, bytes, Through::caches);
  }
}

}  // namespace

HostKernel::HostKernel(HostDevice& device, const CollectiveKernel& kernel) : device_(device) {
  std::visit(
      [this](const auto& each) {
        check_kernel(each);
        bind(each);
      },
      kernel);
}

void HostKernel::bind(const LocalKernel& kernel) {
  kernel_ = without_blocks(kernel);
  const HostMachine& machine = device_.machine();
  for (const LocalKernelItem& item : kernel_.items) {
    for (const Span& span : item.sources) machine.require_own(span, "a kernel's source");
    for (const Span& span : item.destinations) machine.require_own(span, "a kernel's destination");
    for (const Semaphore& each : item.waits) machine.require_own(each.word, "awaited semaphore");
    for (const Semaphore& each : item.signals) machine.require_own(each.word, "semaphore");
    bytes_ += item_bytes(item);
  }
}

void HostKernel::bind(const PeerKernel& kernel) {
  bind(without_peers(kernel));
  if (kernel.awaits.empty()) return;
  opens_ = kernel.opens;
  closes_ = kernel.closes;
  add_peers(kernel);
}

void HostKernel::bind(const NormKernel& kernel) {
  const HostMachine& machine = device_.machine();
  for (const Span& source : kernel.sources) machine.require_own(source, "a norm's source");
  const RowNorm& norm = kernel.norm;
  for (const Span& span : {kernel.result, norm.residual, norm.updated, norm.weight})
    machine.require_own(span, "a norm's span");
  norm_ = kernel;
}

void HostKernel::add_peers(const PeerKernel& kernel) {
  const HostMachine& machine = device_.machine();
  for (const Span& words : kernel.arrivals) {
    machine.require_own(words, "a peer's semaphores");
    arrivals_.push_back(first_word(words));
  }
  for (const Span& words : kernel.awaits) {
    machine.require_own(words, "awaited semaphores");
    awaits_.push_back(first_word(words));
    polled_ = polled_ || machine.is_shared(words);
  }
}

void HostKernel::arrive(std::uint64_t value) const {
  for (std::uint64_t* word : arrivals_) __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

bool HostKernel::have_arrived(std::uint64_t value) const {
  return std::all_of(awaits_.begin(), awaits_.end(), [value](const std::uint64_t* word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= value;
  });
}

int HostKernel::parts_of(std::size_t bytes) const {
  return bytes >= kParallelBytes ? device_.workers().cores() : 1;
}

void HostKernel::run_norm(const NormKernel& kernel) const {
  const std::size_t rows = kernel.result.bytes / kernel.norm.weight.bytes;
  const auto parts = static_cast<std::size_t>(parts_of(kernel.result.bytes));
  device_.workers().parallel(static_cast<int>(parts), [&](int part) {
    const std::size_t first = rows * static_cast<std::size_t>(part) / parts;
    const std::size_t end = rows * static_cast<std::size_t>(part + 1) / parts;
    normalise_rows(kernel, first, end - first);
  });
}

void HostKernel::run_items() const {
  if (norm_) return run_norm(*norm_);
  const int parts = parts_of(bytes_);
  device_.workers().parallel(parts, [this, parts](int part) {
    for (const LocalKernelItem& item : kernel_.items) {
      run_slice(item, kernel_, block_slice(item_bytes(item), part, parts));
    }
  });
}

void HostKernel::run_item(const KernelItem& item) const {
  if (item_bytes(item) == 0) return;
  const int parts = parts_of(item_bytes(item));
  device_.workers().parallel(parts, [this, &item, parts](int part) {
    run_slice(item, kernel_, block_slice(item_bytes(item), part, parts));
  });
}

}  // namespace duet::host
