// Plans of schedules, on a session's lanes.
#pragma once

#include <memory>
#include <vector>

#include "collectives/engine.h"
#include "collectives/partition.h"
#include "collectives/schedule/algorithms/additions.h"
#include "collectives/schedule/binding.h"
#include "collectives/schedule/local_copy.h"
#include "collectives/session/staging.h"

namespace duet {

// Each is collective: every rank calls it inside Team::each(). Throws Unreachable on all ranks
// where one cannot map another's buffer that its kernels or copies access.

// peer_kernels(), with packets where all ranks' buffers are aligned for them.
std::unique_ptr<CollectivePlan> plan_peer_kernels(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  const ScheduleSession& session);

// relay(), by as many blocks as run at once on every rank.
std::unique_ptr<CollectivePlan> plan_relay(Rank& rank, const Collective& collective,
                                           const CollectiveBuffers& buffers,
                                           const ScheduleSession& session,
                                           std::uint64_t piece_bytes);

// pulled_reduction().
std::unique_ptr<CollectivePlan> plan_pulled_reduction(Rank& rank, const Collective& collective,
                                                      const CollectiveBuffers& buffers,
                                                      const ScheduleSession& session);

// direct_moves().
std::unique_ptr<CollectivePlan> plan_direct_moves(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  const ScheduleSession& session,
                                                  std::uint64_t defer_bytes = kDeferLocalCopyBytes);

// broadcast_pipeline().
std::unique_ptr<CollectivePlan> plan_broadcast_pipeline(Rank& rank, const Collective& collective,
                                                        const CollectiveBuffers& buffers,
                                                        const ScheduleSession& session,
                                                        const std::vector<ByteRange>& pieces);

// additions(), where can_add() on all ranks.
std::unique_ptr<CollectivePlan> plan_additions(Rank& rank, const Collective& collective,
                                               const CollectiveBuffers& buffers,
                                               const ScheduleSession& session,
                                               std::uint64_t largest_piece = kAddedPiece);

// spread(), of what is in the receive buffers.
std::unique_ptr<CollectivePlan> plan_spread(Rank& rank, const Collective& collective,
                                            const Span& recv, const ScheduleSession& session,
                                            bool out_of_step);

// staged_moves(), with the same moves on all ranks.
std::unique_ptr<CollectivePlan> plan_staged_moves(Rank& rank, const std::vector<Move>& moves,
                                                  const CollectiveBuffers& buffers,
                                                  const ScheduleSession& session,
                                                  std::uint64_t largest_piece = kLargestPiece);

// staged_reduction().
std::unique_ptr<CollectivePlan> plan_staged_reduction(Rank& rank, const Collective& collective,
                                                      const CollectiveBuffers& buffers,
                                                      const ScheduleSession& session,
                                                      std::uint64_t largest_piece = kLargestPiece);

}  // namespace duet
