#include "soak/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/dtype.h"
#include "device/contents.h"
#include "device/digits.h"

namespace duet {
namespace {

using Bytes = std::array<std::byte, 8>;

// As a number, whose lowest byte comes first in memory.
std::uint64_t number_of(const Bytes& bytes, std::size_t size) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), size);
  return number;
}

std::string text_at(const Span& span, const Difference& difference, std::size_t unit,
                    std::uint64_t expected) {
  const std::size_t at = difference.first_offset;
  Bytes now{};
  span.owner->read(span.slice(at, unit), now.data());
  const std::uint64_t found = number_of(now, unit);
  const int digits = static_cast<int>(2 + 2 * unit);
  const std::string value = found == expected ? std::string("read again it is right")
                                              : fmt::format("{:#0{}x} instead of {:#0{}x}", found,
                                                            digits, expected, digits);
  return fmt::format("{} of {} {} differ, the first at offset {} (address {:#x}): {}",
                     difference.count, span.bytes / unit, unit == 1 ? "bytes" : "elements", at,
                     reinterpret_cast<std::uintptr_t>(span.data) + at, value);
}

}  // namespace

std::string difference_text(const Span& span, const Difference& difference, const Fill& expected) {
  const std::size_t unit = is_digits(expected) ? size_of(expected.dtype) : 1;
  Bytes bytes{};
  write_fill(expected, bytes.data(), difference.first_offset, unit);
  return text_at(span, difference, unit, number_of(bytes, unit));
}

std::string difference_text(const Span& span, const Difference& difference, const Span& expected) {
  Bytes bytes{};
  expected.owner->read(expected.slice(difference.first_offset, 1), bytes.data());
  return text_at(span, difference, 1, number_of(bytes, 1));
}

bool keeps(const Span& span, const Fill& fill) {
  const auto stream = span.owner->make_stream();
  stream->fill(span, fill);
  stream->synchronize(kSoakDeadline);
  return !span.owner->check(span, fill);
}

void flip_bit(const Span& span, std::size_t offset) {
  const Span byte = span.slice(std::min(offset, span.bytes - 1), 1);
  std::byte value{};
  byte.owner->read(byte, &value);
  value ^= std::byte{0x10};
  byte.owner->write(byte, &value);
}

}  // namespace duet
