#include "device/memory_descriptor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

// More memory than any machine has. Sums of kMostSegments such numbers do not overflow.
constexpr std::uint64_t kMostBytes = 1ull << 52;
constexpr std::size_t kMostSegments = 1 << 10;
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

// Parses a number in a peer's text: digits only, from `least` to `most`.
std::uint64_t number(const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) {
    throw Error(fmt::format("memory descriptor: expected a number from {} to {}", least, most));
  }
  return value;
}

MemoryDescriptor::Segment segment_of(const std::string& text) {
  const std::vector<std::string> fields = unpack(text);
  if (fields.size() != 4) throw Error("memory descriptor: a segment's description is not whole");
  const MemoryDescriptor::Segment segment{number(fields[0], 0, kAny),
                                          number(fields[1], 1, kMostBytes),
                                          number(fields[2], 0, kAny), fields[3]};
  if (segment.bytes > kAny - segment.base) {
    throw Error("memory descriptor: a segment ends beyond all addresses");
  }
  return segment;
}

}  // namespace

std::string MemoryDescriptor::text() const {
  std::vector<std::string> items{kind, place, std::to_string(process), std::to_string(offset),
                                 std::to_string(bytes)};
  for (const Segment& each : segments) {
    items.push_back(pack({std::to_string(each.base), std::to_string(each.bytes),
                          std::to_string(each.id), each.handle}));
  }
  return pack(items);
}

MemoryDescriptor MemoryDescriptor::parse(const std::string& text) {
  const std::vector<std::string> items = unpack(text);
  if (items.size() < 6) throw Error("memory descriptor: its description is not whole");
  if (items.size() > 5 + kMostSegments) throw Error("memory descriptor: too many segments");
  constexpr auto kMostProcess = std::numeric_limits<int>::max();
  MemoryDescriptor descriptor{items[0],
                              items[1],
                              static_cast<int>(number(items[2], 1, kMostProcess)),
                              number(items[3], 0, kAny),
                              number(items[4], 0, kAny),
                              {}};
  for (std::size_t i = 5; i < items.size(); ++i)
    descriptor.segments.push_back(segment_of(items[i]));
  const std::uint64_t all = descriptor.mapped_bytes();
  if (descriptor.offset > all || descriptor.bytes > all - descriptor.offset) {
    throw Error("memory descriptor: the span is not in its segments");
  }
  return descriptor;
}

std::uint64_t MemoryDescriptor::mapped_bytes() const {
  std::uint64_t sum = 0;
  for (const Segment& each : segments) sum += each.bytes;
  return sum;
}

std::string MemoryDescriptor::key() const {
  std::string key = std::to_string(process);
  for (const Segment& each : segments)
    key += fmt::format(" {}:{}:{}", each.base, each.bytes, each.id);
  return key;
}

std::string this_boot() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

std::string this_place() {
  char space[64] = "";
  static_cast<void>(readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0);
  return this_boot() + " " + space;
}

void require_mappable(const MemoryDescriptor& descriptor, const std::string& kind) {
  if (descriptor.kind != kind) {
    throw Unavailable(fmt::format("memory of a {} device cannot be mapped by a {} device",
                                  descriptor.kind, kind));
  }
  if (descriptor.place != this_place()) {
    throw Unavailable(
        "memory of a process on another machine or in another container cannot be mapped");
  }
  if (descriptor.process == getpid()) {
    throw Unavailable("memory of the same process needs no mapping");
  }
}

}  // namespace duet
