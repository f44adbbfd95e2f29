// The memory and the plans of a step on all ranks, which the works of the step share: one buffer of
// the largest size for each role, whatever the number of calls.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "gemm/engine.h"
#include "replay/replay_step.h"
#include "team/team.h"

namespace duet {

inline constexpr double kReplayDeadline = 120;  // seconds for any wait outside the samples

class ReplayPlans {
 public:
  // `gemms`: the engine of each GEMM of the step. `session`: null where it has no collectives. All
  // arguments must outlive the plans.
  ReplayPlans(Team& team, const ReplayStep& step, std::vector<GemmEngine*> gemms,
              CollectiveSession* session, const Tuning& tuning);

  // Collective: of the works that use the plans the first one allocates and plans, and the last one
  // frees. A work that has acquired releases once.
  void acquire(Rank& rank);
  void release(const Rank& rank) noexcept;

  const ReplayStep& step() const { return step_; }
  CollectiveSession* session() const { return session_; }
  void enqueue_gemm(const Rank& rank, std::size_t index, Stream& stream);
  void enqueue_collective(const Rank& rank, std::size_t index, Stream& stream);
  const CollectivePlan& collective(const Rank& rank, std::size_t index);
  const std::string& gemm_algorithm(std::size_t index) const { return algorithms_.at(index); }

  // New inputs of a GEMM or collective in the shared buffers, and poison where it writes. All ranks
  // fill equally often.
  void fill_gemm(const Rank& rank, std::size_t index, Stream& stream);
  void fill_collective(const Rank& rank, std::size_t index, Stream& stream);
  // Of what was filled last; the stream is idle. Throw Mismatch.
  void check_gemm(const Rank& rank, std::size_t index);
  void check_collective(const Rank& rank, std::size_t index);
  // Why results on this rank cannot be checked, if so.
  std::optional<Skipped> unverifiable(const Rank& rank);

 private:
  struct OfRank {
    int users = 0;
    Buffer a, b, c, workspace;
    std::unique_ptr<CollectiveMemory> send, recv;
    std::vector<std::unique_ptr<GemmPlan>> gemms;
    std::vector<std::unique_ptr<CollectivePlan>> collectives;
    std::uint64_t fills = 0;
  };

  OfRank& of(const Rank& rank) { return ranks_.at(static_cast<std::size_t>(rank.local)); }
  void plan_gemms(Rank& rank, OfRank& own);
  void plan_collectives(Rank& rank, OfRank& own);
  GemmBuffers operands(const OfRank& own, const GemmProblem& problem) const;
  CollectiveBuffers buffers(const Rank& rank, const OfRank& own, const Collective& call) const;
  std::uint64_t seed_of(const OfRank& own) const;

  Team& team_;
  const ReplayStep& step_;
  const std::vector<GemmEngine*> engines_;
  CollectiveSession* const session_;
  const Tuning tuning_;
  std::vector<OfRank> ranks_;            // by local rank
  std::vector<std::string> algorithms_;  // of local rank 0's GEMMs
};

}  // namespace duet
