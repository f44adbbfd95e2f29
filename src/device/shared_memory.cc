// Shared memory's description as text, and where it counts.
#include "device/shared_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

std::uint64_t number(const std::string& text) {
  try {
    return std::stoull(text);
  } catch (const std::exception&) {
    throw Error(fmt::format("shared memory: expected a number, not '{}'", text));
  }
}

}  // namespace

std::string SharedMemory::text() const {
  std::vector<std::string> items{kind, place, std::to_string(process), std::to_string(offset),
                                 std::to_string(bytes)};
  for (const Segment& each : segments) {
    items.push_back(pack({std::to_string(each.base), std::to_string(each.bytes),
                          std::to_string(each.id), each.handle}));
  }
  return pack(items);
}

SharedMemory SharedMemory::parse(const std::string& text) {
  const std::vector<std::string> items = unpack(text);
  if (items.size() < 6) throw Error("shared memory: its description is not whole");
  SharedMemory shared{items[0],         items[1],         static_cast<int>(number(items[2])),
                      number(items[3]), number(items[4]), {}};
  for (std::size_t i = 5; i < items.size(); ++i) {
    const std::vector<std::string> fields = unpack(items[i]);
    if (fields.size() != 4) throw Error("shared memory: a segment's description is not whole");
    shared.segments.push_back({number(fields[0]), number(fields[1]), number(fields[2]), fields[3]});
  }
  const std::uint64_t all = shared.mapped_bytes();
  if (shared.offset > all || shared.bytes > all - shared.offset) {
    throw Error("shared memory: the span is not in its segments");
  }
  return shared;
}

std::uint64_t SharedMemory::mapped_bytes() const {
  std::uint64_t sum = 0;
  for (const Segment& each : segments) sum += each.bytes;
  return sum;
}

std::string SharedMemory::key() const {
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

void require_mappable(const SharedMemory& shared, const std::string& kind) {
  if (shared.kind != kind) {
    throw Unavailable(
        fmt::format("memory of a {} device cannot be mapped by a {} device", shared.kind, kind));
  }
  if (shared.place != this_place()) {
    throw Unavailable(
        "memory of a process on another machine or in another container cannot be mapped");
  }
  if (shared.process == getpid()) {
    throw Unavailable("memory of the same process needs no mapping");
  }
}

}  // namespace duet
