// A rail between processes of one machine for memory of their GPUs, which each maps of the other:
// copy engines move the data, the library's rail carries words alone.
#pragma once

#include "fabric/detour/detour_rail.h"

namespace duet {

class IpcRail : public DetourRail {
 public:
  using DetourRail::DetourRail;

 private:
  struct Shared;
  using Message = std::pair<int, std::uint64_t>;  // peer and tag

  std::unique_ptr<Place> open_place(const Span& span) override;
  // Throws Unavailable where the device cannot map it.
  std::shared_ptr<const RemoteMemory> reach_place(int peer, const std::string& said) override;
  void begin(std::uint64_t operation) override;
  void passed(std::uint64_t) override {}
  void heard(int peer, const RailWord& word) override;

  Span own(const RailPost& post);
  // Throws Error where a part of it is not in the memory that was reached.
  Span theirs(int peer, std::uint64_t number, std::uint64_t offset, std::uint64_t bytes);
  void written(std::uint64_t operation);
  void offer(std::uint64_t operation);
  void pull(std::uint64_t operation, const RailWord& offered);

  struct Reached {
    RemoteMemory memory;
    std::uint64_t bytes = 0;
  };

  std::map<std::pair<int, std::uint64_t>, Reached> reached_;  // by peer and number
  std::map<Message, std::uint64_t> receives_;                 // operations that wait for an offer
  std::map<Message, RailWord> offers_;                        // that wait for a receive
  std::uint64_t numbers_ = 0;
};

}  // namespace duet
