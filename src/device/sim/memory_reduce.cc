#include <algorithm>
#include <cstring>

#include "device/reduce.h"
#include "device/sim/memory.h"

namespace duet::sim {
namespace {

// All spans of an item, sources first.
std::vector<Span> spans_of(const KernelItem& item) {
  std::vector<Span> spans = item.sources;
  spans.insert(spans.end(), item.destinations.begin(), item.destinations.end());
  return spans;
}

}  // namespace

ReducedVersions SimMemory::state_of(const KernelItem& item) const {
  ReducedVersions state;
  state.push_back(epoch_);
  for (const Span& span : spans_of(item)) {
    const MemoryBlock* block = find(span);
    state.push_back(block == nullptr ? 0 : block->version);
  }
  return state;
}

// Whether equal versions mean that the result is there already. Not with host memory, to which the
// CPU may write unnoticed, nor if a destination is in the same block as a source: a reduction may
// then change its own input.
bool SimMemory::can_remember(const KernelItem& item) const {
  const std::vector<Span> spans = spans_of(item);
  const bool all_device = std::all_of(
      spans.begin(), spans.end(), [](const Span& span) { return span.kind == MemoryKind::device; });
  const auto is_source = [&](const Span& to) {
    return std::any_of(item.sources.begin(), item.sources.end(),
                       [&](const Span& from) { return find(from) == find(to); });
  };
  return all_device && std::none_of(item.destinations.begin(), item.destinations.end(), is_source);
}

// Whether any of the spans is memory whose contents are kept.
bool SimMemory::keeps_any(const std::vector<Span>& spans) const {
  return std::any_of(spans.begin(), spans.end(), [this](const Span& span) {
    const MemoryBlock* block = find(span);
    return block != nullptr && block->real;
  });
}

bool SimMemory::holds_all(const std::vector<Span>& spans) const {
  return std::all_of(spans.begin(), spans.end(),
                     [this](const Span& span) { return has_contents(span); });
}

void SimMemory::write_result(const Span& to, const std::byte* result) {
  MemoryBlock* block = find(to);
  if (block == nullptr || !block->real) return;
  std::memcpy(to.data, result, to.bytes);
  block->version = ++versions_;
}

void SimMemory::reduce(const KernelItem& item, DType dtype, Reduction op, ReducedVersions& last) {
  const std::size_t bytes = item_bytes(item);
  if (bytes == 0 || !keeps_any(item.destinations)) return;
  if (can_remember(item) && last == state_of(item)) return;
  if (holds_all(item.sources)) {
    std::vector<std::byte> result(bytes);
    std::vector<const std::byte*> inputs;
    for (const Span& source : item.sources) inputs.push_back(source.data);
    duet::reduce(dtype, op, inputs, result.data(), bytes / size_of(dtype), item.divisor);
    for (const Span& to : item.destinations) write_result(to, result.data());
  } else {
    for (const Span& to : item.destinations) lose(to);
  }
  last = state_of(item);
}

void SimMemory::normalise(const NormKernel& kernel, ReducedVersions& last) {
  constexpr std::size_t kMostComputed = 16 << 10;  // bytes; a call takes some 0.2 ms of the CPU
  KernelItem item{kernel.sources, {kernel.result, kernel.norm.updated}};
  item.sources.insert(item.sources.end(), {kernel.norm.residual, kernel.norm.weight});
  if (!keeps_any(item.destinations)) return;
  if (can_remember(item) && last == state_of(item)) return;
  const std::size_t bytes = kernel.result.bytes;
  if (bytes <= kMostComputed && holds_all(item.sources)) {
    std::vector<std::byte> result(bytes), updated(bytes);
    NormKernel aside = kernel;
    aside.result.data = result.data();
    aside.norm.updated.data = updated.data();
    normalise_rows(aside, 0, bytes / kernel.norm.weight.bytes);
    write_result(kernel.result, result.data());
    write_result(kernel.norm.updated, updated.data());
  } else {
    lose(kernel.result);
    lose(kernel.norm.updated);
  }
  last = state_of(item);
}

}  // namespace duet::sim
