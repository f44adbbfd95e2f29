// The memory that MPI is given: a rank's buffers, or pinned memory in their place.
#pragma once

#include "collectives/engine.h"

namespace duet::mpi {

// In place stays in place: where one buffer lies in the other, so do the addresses.
class Staging {
 public:
  // `direct`: MPI reaches the buffers themselves. Otherwise allocates; throws OutOfMemory.
  Staging(Device& device, const CollectiveBuffers& buffers, bool direct);

  const std::byte* send() const { return send_.data; }
  std::byte* recv() const { return recv_.data; }

  // Enqueue the copies from and to the buffers, if any.
  void bring_in(Stream& stream) const;
  void bring_out(Stream& stream) const;

 private:
  CollectiveBuffers buffers_;
  Buffer first_, second_;
  Span send_, recv_;
};

}  // namespace duet::mpi
