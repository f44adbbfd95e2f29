#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "device/memory_descriptor.h"

namespace duet {

// The memory of other processes that a device has mapped. Each allocation is mapped once and its
// uses are counted, because vendors do not open the same handle twice.
class Imports {
 public:
  using Open = std::function<std::byte*(const MemoryDescriptor&)>;
  // `data` is what open() returned.
  using Close = std::function<void(std::byte* data, const MemoryDescriptor&)>;

  Imports(Open open, Close close) : open_(std::move(open)), close_(std::move(close)) {}
  // Closes all remaining mappings, the newest first.
  ~Imports();
  Imports(const Imports&) = delete;
  Imports& operator=(const Imports&) = delete;

  // Maps the span and returns its address in this process. Throws what open() throws.
  std::byte* map(const MemoryDescriptor& descriptor);
  // Ends one use of the mapping that contains `data`. The last use closes the mapping.
  void unmap(const std::byte* data) noexcept;

 private:
  struct Mapping {
    std::byte* data = nullptr;
    MemoryDescriptor descriptor;
    int uses = 0;
  };
  using Mappings = std::map<long, Mapping>;  // by order of creation

  void close(const Mapping& mapping) noexcept;

  Open open_;
  Close close_;
  std::mutex mutex_;
  Mappings mappings_;
  long made_ = 0;
};

}  // namespace duet
