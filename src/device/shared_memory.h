// What another process needs to map a device's memory: made by Device::share(), sent as text, used
// by Device::map().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace duet {

struct SharedMemory {
  // One allocation in the process that shares; those of a span follow on each other.
  struct Segment {
    std::uint64_t base = 0;   // its address there
    std::uint64_t bytes = 0;  // all of it
    std::uint64_t id = 0;     // tells it from an earlier one at that address
    std::string handle;       // what the device's kind opens it by
  };

  std::string kind;          // of the device: "host", "cuda", "hip"
  std::string place;         // the machine and its space of process numbers, see this_place()
  int process = 0;           // its number there
  std::uint64_t offset = 0;  // of the span in the segments, taken together
  std::uint64_t bytes = 0;   // of the span
  std::vector<Segment> segments;

  std::string text() const;
  // Of a peer's text. Throws Error where it is not what text() makes, and where numbers are not of
  // any memory; the handle is for who opens it to judge.
  static SharedMemory parse(const std::string& text);

  // Of the segments, taken together.
  std::uint64_t mapped_bytes() const;
  // The same for spans of the same allocations.
  std::string key() const;
};

// The same in all processes of this machine, in whichever container; "" where the kernel hides it.
std::string this_boot();

// The same in processes that can map each other's memory.
std::string this_place();

// Throws Unavailable with the reason where this process cannot map it on a device of this kind.
void require_mappable(const SharedMemory& shared, const std::string& kind);

}  // namespace duet
