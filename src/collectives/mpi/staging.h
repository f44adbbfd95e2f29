#pragma once

#include <vector>

#include "collectives/engine.h"

namespace duet::mpi {

// The memory that MPI is given for one rank: the rank's own buffers, or pinned memory in their
// place. Where one buffer lies in the other, the staged memory has the same layout; but of a
// neighbor_exchange it has what is sent and received alone, as buffers apart.
class Staging {
 public:
  // `direct`: MPI can access the buffers, and nothing is allocated. Otherwise allocates pinned
  // memory. Throws OutOfMemory.
  Staging(Device& device, const Collective& collective, const CollectiveBuffers& buffers,
          bool direct);

  // What MPI does with this memory.
  const Collective& collective() const { return collective_; }

  const std::byte* send() const { return send_.data; }
  std::byte* recv() const { return recv_.data; }

  // Enqueue the copies from the send buffer and to the receive buffer; nothing if `direct`.
  void bring_in(Stream& stream) const;
  void bring_out(Stream& stream) const;

 private:
  void stage(Device& device, const CollectiveBuffers& buffers);
  void stage_chunks(Device& device, const CollectiveBuffers& buffers);

  Collective collective_;
  Buffer first_, second_;
  Span send_, recv_;
  std::vector<Copy> in_, out_;
};

}  // namespace duet::mpi
