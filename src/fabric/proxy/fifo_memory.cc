#include "fabric/proxy/fifo_memory.h"

namespace duet {

FifoMemory::FifoMemory(Device& device, MemoryKind kind, std::size_t capacity)
    : capacity_(capacity),
      buffer_(device.allocate(Fifo::bytes(capacity), kind)),
      view_(device.view(buffer_.span())) {}

Fifo FifoMemory::fifo() const { return {view_->data(), capacity_, buffer_.span().data}; }

}  // namespace duet
