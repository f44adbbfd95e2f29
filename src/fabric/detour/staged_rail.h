// A rail for memory that its library does not reach: data are copied to pinned memory at the same
// place of a mirror of that memory, moved by the rail into the peer's mirror, and copied on there.
#pragma once

#include "fabric/detour/detour_rail.h"

namespace duet {

// The mirrors of a process's memory, which its rails share.
class Mirrors {
 public:
  // The device's pinned memory, as large as the span, while it is kept. Throws OutOfMemory.
  std::shared_ptr<Buffer> of(const Span& span);

 private:
  std::map<const std::byte*, std::weak_ptr<Buffer>> mirrors_;
};

class StagedRail : public DetourRail {
 public:
  StagedRail(std::unique_ptr<Rail> rail, Device& device, int self,
             std::shared_ptr<Mirrors> mirrors);

 private:
  struct Mirrored;
  using Known = std::map<std::uint64_t, const Mirrored*>;  // by number

  // A stretch of memory, and the same of its mirror.
  struct Stretch {
    Span memory, mirror;
  };

  std::unique_ptr<Place> open_place(const Span& span) override;
  std::shared_ptr<const RemoteMemory> reach_place(int peer, const std::string& said) override;
  void begin(std::uint64_t operation) override;
  void passed(std::uint64_t operation) override;
  void heard(int peer, const RailWord& word) override;

  static Stretch stretch_of(const Mirrored& place, std::uint64_t offset, std::uint64_t bytes);
  Stretch stretch_of(std::uint64_t operation) const;
  void pass_mirror_on(std::uint64_t operation);
  void copy_in(std::uint64_t operation);
  void ask(std::uint64_t operation, RailWord::Kind kind);
  void copy_in_for(int peer, const RailWord& word, const Stretch& stretch);
  void copy_out_for(int peer, const RailWord& word, const Stretch& stretch);

  std::shared_ptr<Mirrors> mirrors_;
  std::shared_ptr<Known> known_ = std::make_shared<Known>();  // a place may outlive the rail
  std::uint64_t numbers_ = 0;
};

}  // namespace duet
