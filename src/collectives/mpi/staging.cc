#include "collectives/mpi/staging.h"

#include "collectives/engine.h"

namespace duet::mpi {

Staging::Staging(Device& device, const Collective& collective, const CollectiveBuffers& buffers,
                 bool direct)
    : collective_(collective), send_(buffers.send), recv_(buffers.recv) {
  if (direct) return;
  if (collective.kind == CollectiveKind::neighbor_exchange) {
    stage_chunks(device, buffers);
  } else {
    stage(device, buffers);
  }
}

void Staging::stage(Device& device, const CollectiveBuffers& buffers) {
  const auto within = [](const Buffer& stage, const Span& outer, const Span& inner) {
    return stage.slice(static_cast<std::size_t>(inner.data - outer.data), inner.bytes);
  };
  if (in_place(buffers)) {
    const Span& outer = buffers.send.bytes > buffers.recv.bytes ? buffers.send : buffers.recv;
    first_ = device.allocate(outer.bytes, MemoryKind::pinned);
    send_ = within(first_, outer, buffers.send);
    recv_ = within(first_, outer, buffers.recv);
  } else {
    first_ = device.allocate(buffers.send.bytes, MemoryKind::pinned);
    second_ = device.allocate(buffers.recv.bytes, MemoryKind::pinned);
    send_ = first_.span();
    recv_ = second_.span();
  }
  if (send_.bytes > 0) in_.push_back({send_, buffers.send, Executor::dma, {}});
  if (recv_.bytes > 0) out_.push_back({buffers.recv, recv_, Executor::dma, {}});
}

// As a call whose send buffers have two chunks each.
void Staging::stage_chunks(Device& device, const CollectiveBuffers& buffers) {
  collective_.counts.clear();
  const std::size_t chunk = collective_.count * size_of(collective_.dtype);
  first_ = device.allocate(2 * chunk, MemoryKind::pinned);
  second_ = device.allocate(4 * chunk, MemoryKind::pinned);
  send_ = first_.span();
  recv_ = second_.span();
  if (chunk == 0) return;
  const auto first = [chunk](const Span& buffer) { return buffer.slice(0, chunk); };
  const auto last = [chunk](const Span& buffer) {
    return buffer.slice(buffer.bytes - chunk, chunk);
  };
  in_.push_back({first(send_), first(buffers.send), Executor::dma, {}});
  in_.push_back({last(send_), last(buffers.send), Executor::dma, {}});
  out_.push_back({first(buffers.recv), first(recv_), Executor::dma, {}});
  out_.push_back({last(buffers.recv), last(recv_), Executor::dma, {}});
}

void Staging::bring_in(Stream& stream) const {
  for (const Copy& copy : in_) stream.copy(copy);
}

void Staging::bring_out(Stream& stream) const {
  for (const Copy& copy : out_) stream.copy(copy);
}

}  // namespace duet::mpi
