#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nccl/communicators.h"
#include "collectives/nccl/memory.h"
#include "collectives/nccl/mode.h"

namespace duet::nccl {

// NCCL's communicators for the ranks of a team. Plans and memory may outlive the session, but not
// the library or the team's devices.
class Session : public CollectiveSession {
 public:
  // Collective. Throws Error, or Timeout where a rank does not join.
  Session(const Library& library, Mode mode, Team& team);

  bool usable() const override { return communicators_->usable(); }
  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override;
  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) override;

 protected:
  std::string request(const Rank& rank, const Collective& collective,
                      const CollectiveBuffers& buffers) override;
  // Joins the ranks of a child team, and makes the plan and its first call, in which NCCL connects
  // the ranks and chooses an algorithm. The first call overwrites the receive buffer.
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>& requests) override;

 private:
  const Library& library_;
  Mode mode_;
  int ranks_;
  std::shared_ptr<Communicators> communicators_;
  std::shared_ptr<Allocations> allocations_;
};

}  // namespace duet::nccl
