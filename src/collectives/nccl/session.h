// NCCL set up for the ranks of a team.
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

// Plans and memory may outlive the session, but not the library and the team's devices.
class Session : public CollectiveSession {
 public:
  // Throws Error or Timeout where the ranks do not come together.
  Session(const Library& library, Mode mode, Team& team);

  bool usable() const override { return communicators_->usable(); }
  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override;
  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) override;

 protected:
  std::string request(const Rank& rank, const Collective& collective,
                      const CollectiveBuffers& buffers) override;
  // Makes the first call, in which NCCL connects the ranks and chooses: it overwrites the receive
  // buffer.
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>& requests) override;

 private:
  const Library& library_;
  Mode mode_;
  std::shared_ptr<Communicators> communicators_;
  std::shared_ptr<Allocations> allocations_;
};

}  // namespace duet::nccl
