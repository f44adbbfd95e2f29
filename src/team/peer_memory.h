#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/error.h"
#include "team/team.h"

namespace duet {

// Some rank cannot reach another's memory. Thrown on all ranks, so that all can do without it.
class Unreachable : public Unavailable, public OnAllRanks {
 public:
  using Unavailable::Unavailable;
};

// One span of every rank, at addresses that streams of this rank's device can use. Move-only; the
// destructor unmaps what was imported from other processes, the last first.
//
// Hazard: a rank may free or reuse its own span only when no rank has a PeerMemory of it any more.
// Put a barrier in between.
class PeerMemory {
 public:
  // Collective, inside Team::each(): `mine` is memory of the rank's device, or empty. Memory of
  // other processes is imported. If any rank cannot reach another's, all throw Unreachable with the
  // reason of the lowest. Throws as Team::gather() besides.
  PeerMemory(Rank& rank, const Span& mine, const std::string& what,
             double deadline_seconds = kDefaultDeadlineSeconds)
      : PeerMemory(
            rank, [&mine] { return mine; }, what, deadline_seconds) {}
  // As above, with memory that `make` allocates. If that throws on any rank, all throw as in
  // Team::all_or_none().
  PeerMemory(Rank& rank, const std::function<Span()>& make, const std::string& what,
             double deadline_seconds = kDefaultDeadlineSeconds);
  PeerMemory(PeerMemory&& other) noexcept;
  PeerMemory& operator=(PeerMemory&& other) noexcept;
  ~PeerMemory() { reset(); }

  int size() const { return static_cast<int>(spans_.size()); }
  // Throws BadArgument for a rank that does not exist.
  const Span& at(int rank) const;

  // The same on all ranks; no other PeerMemory of the team has it.
  std::uint64_t number() const { return number_; }

 private:
  void reset() noexcept;

  Device* device_ = nullptr;
  std::uint64_t number_ = 0;
  std::vector<Span> spans_;
  std::vector<Span> mapped_;
};

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
