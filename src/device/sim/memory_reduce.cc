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

void SimMemory::reduce(const KernelItem& item, DType dtype, Reduction op, ReducedVersions& last) {
  const std::size_t bytes = item_bytes(item);
  const auto real = [this](const Span& span) { return has_contents(span); };
  const bool seen =
      std::any_of(item.destinations.begin(), item.destinations.end(), [this](const Span& span) {
        const MemoryBlock* block = find(span);
        return block != nullptr && block->real;
      });
  if (bytes == 0 || !seen) return;
  if (can_remember(item) && last == state_of(item)) return;
  std::vector<std::byte> result(bytes, std::byte{kUnknownByte});
  const bool held = std::all_of(item.sources.begin(), item.sources.end(), real);
  if (held) {
    std::vector<const std::byte*> inputs;
    for (const Span& source : item.sources) inputs.push_back(source.data);
    duet::reduce(dtype, op, inputs, result.data(), bytes / size_of(dtype), item.divisor);
  }
  for (const Span& to : item.destinations) {
    MemoryBlock* block = find(to);
    if (block == nullptr || !block->real) continue;
    std::memcpy(to.data, result.data(), bytes);
    block->version = ++versions_;
    block->lost |= !held;
  }
  last = state_of(item);
}

}  // namespace duet::sim
