// One span of every rank, as streams of this rank's device reach them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "team/team.h"

namespace duet {

// Some rank cannot reach another's memory: thrown on all ranks alike, which may then all do
// without.
class Unreachable : public Unavailable, public OnAllRanks {
 public:
  using Unavailable::Unavailable;
};

// Move-only; unmaps what it mapped of other processes, the last first. A rank frees or reuses its
// own span only when no rank has a PeerMemory of it any more: meet at a barrier in between.
class PeerMemory {
 public:
  // Inside Team::each(), by every rank: `mine` is memory of the rank's device, or empty. Of ranks
  // in this process it gets their spans, of others a mapping. If any rank cannot reach another's,
  // all throw Unreachable with the reason of the first. Throws as Team's meetings besides.
  PeerMemory(Rank& rank, const Span& mine, const std::string& what, double deadline_seconds = 60)
      : PeerMemory(
            rank, [&mine] { return mine; }, what, deadline_seconds) {}
  // The same of memory that `make` allocates first: where that throws on any rank, it throws on all
  // as Team::all_or_none() does.
  PeerMemory(Rank& rank, const std::function<Span()>& make, const std::string& what,
             double deadline_seconds = 60);
  PeerMemory(PeerMemory&& other) noexcept;
  PeerMemory& operator=(PeerMemory&& other) noexcept;
  ~PeerMemory() { reset(); }

  int size() const { return static_cast<int>(spans_.size()); }
  // Throws BadArgument for a rank that is not there.
  const Span& at(int rank) const;

  // The same on all ranks, and of no other PeerMemory of the team.
  std::uint64_t number() const { return number_; }

 private:
  void reset() noexcept;

  Device* device_ = nullptr;
  std::uint64_t number_ = 0;
  std::vector<Span> spans_;
  std::vector<Span> mapped_;
};

}  // namespace duet
