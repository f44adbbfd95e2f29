// Memory of a rank's own that all other ranks write to, and theirs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "team/peer_memory.h"

namespace duet {

// Ends on each rank by itself, when that rank's streams are done with the others' memory. Its own
// is not freed then, since others may still use it: Team::free_retired() does that when all ranks
// have ended theirs, or the team's end.
class OfferedMemory {
 public:
  // Inside Team::each(), by every rank: `make` allocates its own.
  OfferedMemory(Rank& rank, const std::function<Buffer()>& make, const std::string& what);
  ~OfferedMemory();
  OfferedMemory(const OfferedMemory&) = delete;
  OfferedMemory& operator=(const OfferedMemory&) = delete;

  // A rank's, as streams of this rank's device reach it.
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
