#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "device/buffer.h"
#include "device/memory_descriptor.h"

namespace duet::host {

inline constexpr std::size_t kHugePage = 2 << 20;

// The memory of a host device that other processes can map. Each allocation is a file without a
// name (memfd). Another process opens it by this process's id and the number of the file
// descriptor (/proc/PID/fd/N). Any thread may call it.
class Exports {
 public:
  // Allocates zeroed memory of whole pages. Returns nullptr if there is no memory or no file
  // descriptor left.
  void* allocate(std::size_t bytes);
  // Frees memory of allocate(). Returns false for any other memory.
  bool release(std::byte* data) noexcept;
  // Describes a span of such memory for another process. Throws Unavailable if the span does not
  // lie in one allocation of allocate(). `device` is the device's name, for the message.
  MemoryDescriptor export_memory(const Span& span, const std::string& device);

 private:
  struct Allocation {
    std::size_t bytes = 0;
    int descriptor = -1;  // of the file
    std::uint64_t id = 0;
  };

  std::mutex mutex_;
  std::map<std::byte*, Allocation> allocations_;
  std::uint64_t made_ = 0;
};

// Maps another process's allocation and returns its address here. Throws Unavailable with the
// reason. unmap_exported() ends the mapping.
std::byte* map_exported(const MemoryDescriptor& descriptor);
void unmap_exported(std::byte* data, const MemoryDescriptor& descriptor);

}  // namespace duet::host
