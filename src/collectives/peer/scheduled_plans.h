// Plans of schedules, on a session's lanes.
#pragma once

#include <memory>
#include <vector>

#include "collectives/engine.h"
#include "collectives/partition.h"
#include "collectives/schedule/algorithms/additions.h"
#include "collectives/schedule/local_copy.h"
#include "collectives/schedule/schedule_memory.h"
#include "collectives/session/lanes.h"
#include "collectives/session/staging.h"
#include "collectives/session/watchdog.h"

namespace duet {

// Each is collective: every rank calls it inside Team::each(). Throws Unreachable on all ranks
// where one cannot map another's buffer that its kernels or copies access.

// peer_kernels(), with packets where all ranks' buffers are aligned for them.
std::unique_ptr<CollectivePlan> plan_peer_kernels(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  Watchdog& watchdog);

// relay(), by as many blocks as run at once on every rank.
std::unique_ptr<CollectivePlan> plan_relay(Rank& rank, const Collective& collective,
                                           const CollectiveBuffers& buffers, Watchdog& watchdog,
                                           std::uint64_t piece_bytes);

// pulled_reduction().
std::unique_ptr<CollectivePlan> plan_pulled_reduction(Rank& rank, const Collective& collective,
                                                      const CollectiveBuffers& buffers,
                                                      Watchdog& watchdog);

// direct_moves().
std::unique_ptr<CollectivePlan> plan_direct_moves(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  SideStreams& lanes, Watchdog& watchdog,
                                                  std::uint64_t defer_bytes = kDeferLocalCopyBytes);

// broadcast_pipeline().
std::unique_ptr<CollectivePlan> plan_broadcast_pipeline(Rank& rank, const Collective& collective,
                                                        const CollectiveBuffers& buffers,
                                                        SideStreams& lanes, Watchdog& watchdog,
                                                        const std::vector<ByteRange>& pieces);

// additions(), where can_add() on all ranks.
std::unique_ptr<CollectivePlan> plan_additions(Rank& rank, const Collective& collective,
                                               const CollectiveBuffers& buffers, SideStreams& lanes,
                                               Watchdog& watchdog,
                                               std::uint64_t largest_piece = kAddedPiece);

// spread(), of what is in the receive buffers.
std::unique_ptr<CollectivePlan> plan_spread(Rank& rank, const Collective& collective,
                                            const Span& recv, SideStreams& lanes,
                                            Watchdog& watchdog, bool out_of_step);

// staged_moves(), with the same moves on all ranks.
std::unique_ptr<CollectivePlan> plan_staged_moves(Rank& rank, const std::vector<Move>& moves,
                                                  const CollectiveBuffers& buffers,
                                                  SideStreams& lanes, Watchdog& watchdog,
                                                  std::uint64_t largest_piece = kLargestPiece);

// staged_reduction().
std::unique_ptr<CollectivePlan> plan_staged_reduction(Rank& rank, const Collective& collective,
                                                      const CollectiveBuffers& buffers,
                                                      SideStreams& lanes, Watchdog& watchdog,
                                                      ScheduleMemoryPool& pool,
                                                      std::uint64_t largest_piece = kLargestPiece);

}  // namespace duet
