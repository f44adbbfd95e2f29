#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace duet {

// The descriptor by which another process maps a device's memory. Device::export_memory() makes it;
// it is sent as text, and Device::import_memory() uses it.
struct MemoryDescriptor {
  // One allocation of the process that exports. The segments of a span are contiguous.
  struct Segment {
    std::uint64_t base = 0;   // address in the process that exports
    std::uint64_t bytes = 0;  // size of the whole allocation
    std::uint64_t id = 0;     // distinguishes it from earlier allocations at the same address
    std::string handle;       // by which this kind of device opens the allocation
  };

  std::string kind;          // kind of device: "host", "cuda", "hip"
  std::string place;         // this_place() of the process that exports
  int process = 0;           // process id of the process that exports
  std::uint64_t offset = 0;  // offset of the span from the first segment's base
  std::uint64_t bytes = 0;   // size of the span
  std::vector<Segment> segments;

  std::string text() const;
  // Parses a peer's text, which is not trusted. Throws Error where the text is not in the form of
  // text() and where its numbers cannot describe memory. Handles are checked by the code that opens
  // them.
  static MemoryDescriptor parse(const std::string& text);

  // The sum of the segments' bytes.
  std::uint64_t mapped_bytes() const;
  // A key that is equal for spans of the same allocations.
  std::string key() const;
};

// An identifier of the running operating system: equal in all processes of this machine, in any
// container; "" where the kernel does not provide it.
std::string this_boot();

// An identifier that is equal in processes that can map each other's memory.
std::string this_place();

// Throws Unavailable, with the reason, where this process cannot map the memory on a device of this
// kind.
void require_mappable(const MemoryDescriptor& descriptor, const std::string& kind);

}  // namespace duet
