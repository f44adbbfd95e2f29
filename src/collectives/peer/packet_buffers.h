// Packet buffers, 0 at first: one at each rank for every other rank, which writes it.
#pragma once

#include "team/offered_memory.h"

namespace duet {

class PacketBuffers {
 public:
  // Inside Team::each(), by every rank with the same size of a buffer, a multiple of 16 bytes.
  PacketBuffers(Rank& rank, std::uint64_t bytes);

  // At `owner`, where `source` writes.
  Span at(int owner, int source) const;

 private:
  std::uint64_t bytes_;
  OfferedMemory all_;
};

}  // namespace duet
