#include "collectives/mpi/staging.h"

#include "collectives/planning.h"

namespace duet::mpi {

Staging::Staging(Device& device, const CollectiveBuffers& buffers, bool direct)
    : buffers_(buffers), send_(buffers.send), recv_(buffers.recv) {
  if (direct) return;
  const auto within = [](const Buffer& stage, const Span& outer, const Span& inner) {
    return stage.slice(static_cast<std::size_t>(inner.data - outer.data), inner.bytes);
  };
  if (in_place(buffers)) {
    const Span& outer = buffers.send.bytes > buffers.recv.bytes ? buffers.send : buffers.recv;
    first_ = device.allocate(outer.bytes, MemoryKind::pinned);
    send_ = within(first_, outer, buffers.send);
    recv_ = within(first_, outer, buffers.recv);
    return;
  }
  first_ = device.allocate(buffers.send.bytes, MemoryKind::pinned);
  second_ = device.allocate(buffers.recv.bytes, MemoryKind::pinned);
  send_ = first_.span();
  recv_ = second_.span();
}

void Staging::bring_in(Stream& stream) const {
  if (send_.bytes > 0 && send_.data != buffers_.send.data)
    stream.copy({send_, buffers_.send, Executor::dma, {}});
}

void Staging::bring_out(Stream& stream) const {
  if (recv_.bytes > 0 && recv_.data != buffers_.recv.data)
    stream.copy({buffers_.recv, recv_, Executor::dma, {}});
}

}  // namespace duet::mpi
