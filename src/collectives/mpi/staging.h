#pragma once

#include "collectives/engine.h"

namespace duet::mpi {

// The memory that MPI is given for one rank: the rank's own buffers, or pinned memory in their
// place. Where one buffer lies in the other, the staged memory has the same layout.
class Staging {
 public:
  // `direct`: MPI can access the buffers, and nothing is allocated. Otherwise allocates pinned
  // memory. Throws OutOfMemory.
  Staging(Device& device, const CollectiveBuffers& buffers, bool direct);

  const std::byte* send() const { return send_.data; }
  std::byte* recv() const { return recv_.data; }

  // Enqueue the copies from the send buffer and to the receive buffer; nothing if `direct`.
  void bring_in(Stream& stream) const;
  void bring_out(Stream& stream) const;

 private:
  CollectiveBuffers buffers_;
  Buffer first_, second_;
  Span send_, recv_;
};

}  // namespace duet::mpi
