#pragma once

#include <memory>

#include "device/device.h"
#include "fabric/proxy/fifo.h"

namespace duet {

// The memory of FifoMemory::fifo(), which must not outlive it.
class FifoMemory {
 public:
  // Throws Unavailable where the CPU cannot follow such memory of the device, OutOfMemory.
  FifoMemory(Device& device, MemoryKind kind, std::size_t capacity);

  // An empty fifo in this memory.
  Fifo fifo() const;

 private:
  std::size_t capacity_;
  Buffer buffer_;
  std::unique_ptr<CpuView> view_;
};

}  // namespace duet
