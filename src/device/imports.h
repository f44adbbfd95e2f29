// The memory of other processes that a device has mapped. Each allocation is mapped once and
// counted: vendors refuse to open one handle twice.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "device/shared_memory.h"

namespace duet {

class Imports {
 public:
  using Open = std::function<std::byte*(const SharedMemory&)>;
  // `data` is what open() returned.
  using Close = std::function<void(std::byte* data, const SharedMemory&)>;

  Imports(Open open, Close close) : open_(std::move(open)), close_(std::move(close)) {}
  // Closes what is still mapped, the last first.
  ~Imports();
  Imports(const Imports&) = delete;
  Imports& operator=(const Imports&) = delete;

  // The span's address. Throws what open() throws.
  std::byte* map(const SharedMemory& shared);
  // `data` lies in what map() gave; the mapping goes with its last use.
  void unmap(const std::byte* data) noexcept;

 private:
  struct Mapping {
    std::byte* data = nullptr;
    SharedMemory shared;
    int uses = 0;
  };
  using Mappings = std::map<long, Mapping>;  // by their order

  void close(const Mapping& mapping) noexcept;

  Open open_;
  Close close_;
  std::mutex mutex_;
  Mappings mappings_;
  long made_ = 0;
};

}  // namespace duet
