// Memory of a host device that other processes can map: each allocation is a file without a name,
// which they open as a descriptor of this process.
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

class Exports {
 public:
  // nullptr where there is no memory or no descriptor left.
  void* allocate(std::size_t bytes);
  // False where the memory is not of allocate().
  bool release(std::byte* data) noexcept;
  // Throws Unavailable where the span does not lie in memory of allocate().
  MemoryDescriptor export_memory(const Span& span, const std::string& device);

 private:
  struct Allocation {
    std::size_t bytes = 0;
    int descriptor = -1;
    std::uint64_t id = 0;
  };

  std::mutex mutex_;
  std::map<std::byte*, Allocation> allocations_;
  std::uint64_t made_ = 0;
};

// Maps another process's allocation. Throws Unavailable with the reason.
std::byte* map_exported(const MemoryDescriptor& descriptor);
void unmap_exported(std::byte* data, const MemoryDescriptor& descriptor);

}  // namespace duet::host
