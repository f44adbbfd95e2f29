#pragma once

#include <functional>
#include <optional>
#include <string>

#include "team/peer_memory.h"

namespace duet {

// A buffer of every rank that all other ranks write to. Each rank destroys its object when its own
// streams no longer use the others' buffers. The rank's own buffer is then retired, since others
// may still use it: Team::free_retired() frees it when all ranks have destroyed theirs, or else
// ~Team().
class OfferedMemory {
 public:
  // Collective, inside Team::each(): `make` allocates the rank's own buffer.
  OfferedMemory(Rank& rank, const std::function<Buffer()>& make, const std::string& what);
  ~OfferedMemory();
  OfferedMemory(const OfferedMemory&) = delete;
  OfferedMemory& operator=(const OfferedMemory&) = delete;

  // A rank's buffer, at an address for streams of this rank's device.
  const Span& at(int rank) const { return all_->at(rank); }
  const Buffer& own() const { return own_; }

 private:
  void keep();

  Team& team_;
  int local_;
  Buffer own_;
  std::optional<PeerMemory> all_;
};

}  // namespace duet
