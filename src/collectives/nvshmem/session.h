#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nvshmem/engine.h"
#include "collectives/nvshmem/pe.h"

namespace duet::nvshmem {

// Where the session's symmetric memory lies. The n-th allocation of a rank is symmetric to the n-th
// of every other.
class SymmetricAllocations {
 public:
  void add(int pe, const Span& span);
  void remove(const Span& span);
  // The same text on all PEs for spans that are symmetric to each other; "" where the span is not
  // in the session's memory.
  std::string place_of(const Span& span) const;

 private:
  struct Allocation {
    Span span;
    int number = 0;
  };
  mutable std::mutex mutex_;
  std::map<int, int> made_;  // allocations of each PE
  std::vector<Allocation> allocations_;
};

// Who begins the puts of a call, and of how many bytes at most each is.
struct PutSettings {
  Initiation initiation = Initiation::stream;
  std::uint64_t packet = kDefaultPacket;  // not of Initiation::stream
};

// The kinds of collectives that sessions run.
bool runs(CollectiveKind kind);

// The ranks of a team as NVSHMEM's PEs. The session must outlive its plans and memory.
class Session : public CollectiveSession {
 public:
  // Collective; called outside Team::each().
  Session(const Calls& calls, const PutSettings& puts, Team& team);

  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override;
  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) override;

 protected:
  std::string request(const Rank& rank, const Collective& collective,
                      const CollectiveBuffers& buffers) override;
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>& requests) override;

 private:
  const Calls& calls_;
  PutSettings puts_;
  Watchdog watchdog_;
  SymmetricAllocations allocations_;
};

}  // namespace duet::nvshmem
