#include "device/compare_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/error.h"
#include "device/contents.h"

namespace duet {
namespace {

constexpr std::size_t kChunkBytes = 4 << 20;

// By copies of the parts that are compared.
Difference compare_read(const Span& span, const Span& other) {
  Difference difference;
  std::vector<std::byte> one(std::min(kChunkBytes, span.bytes)), two(one.size());
  for (std::size_t begin = 0; begin < span.bytes; begin += kChunkBytes) {
    const std::size_t length = std::min(kChunkBytes, span.bytes - begin);
    span.owner->read(span.slice(begin, length), one.data());
    other.owner->read(other.slice(begin, length), two.data());
    const Difference found = compare_bytes(one.data(), two.data(), length);
    if (difference.count == 0 && found.count > 0) {
      difference.first_offset = begin + found.first_offset;
    }
    difference.count += found.count;
  }
  return difference;
}

}  // namespace

std::optional<Difference> compare_spans(const Span& span, const Span& other) {
  if (span.bytes != other.bytes) {
    throw BadArgument(fmt::format("{} bytes cannot be compared with {}", span.bytes, other.bytes));
  }
  if (span.bytes == 0) return std::nullopt;
  const bool pageable = span.kind == MemoryKind::pageable || other.kind == MemoryKind::pageable;
  auto* comparer = dynamic_cast<SpanComparer*>(span.owner);
  if (comparer != nullptr && !pageable) {
    return comparer->compare_spans(span, other);
  }
  const Difference found = compare_read(span, other);
  return found.count > 0 ? std::optional<Difference>(found) : std::nullopt;
}

}  // namespace duet
