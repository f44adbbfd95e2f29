// Plans of schedules, on a session's lanes.
#pragma once

#include <memory>
#include <vector>

#include "collectives/engine.h"
#include "collectives/peer/lanes.h"
#include "collectives/peer/partition.h"
#include "collectives/peer/staging.h"
#include "collectives/peer/watchdog.h"
#include "collectives/schedule/algorithms/additions.h"
#include "collectives/schedule/local_copy.h"
#include "collectives/schedule/schedule_memory.h"

namespace duet {

// direct_moves(). Collective: every rank calls it inside Team::each(). Throws Unreachable on all
// ranks where one cannot map another's receive buffer.
std::unique_ptr<CollectivePlan> plan_direct_moves(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  SideStreams& lanes, Watchdog& watchdog,
                                                  std::uint64_t defer_bytes = kDeferLocalCopyBytes);

// broadcast_pipeline(). Collective likewise.
std::unique_ptr<CollectivePlan> plan_broadcast_pipeline(Rank& rank, const Collective& collective,
                                                        const CollectiveBuffers& buffers,
                                                        SideStreams& lanes, Watchdog& watchdog,
                                                        const std::vector<ByteRange>& pieces);

// additions(), where can_add() on all ranks. Collective likewise; throws as plan_direct_moves().
std::unique_ptr<CollectivePlan> plan_additions(Rank& rank, const Collective& collective,
                                               const CollectiveBuffers& buffers, SideStreams& lanes,
                                               Watchdog& watchdog,
                                               std::uint64_t largest_piece = kAddedPiece);

// spread(), of what is in the receive buffers. Collective likewise; throws as plan_direct_moves().
std::unique_ptr<CollectivePlan> plan_spread(Rank& rank, const Collective& collective,
                                            const Span& recv, SideStreams& lanes,
                                            Watchdog& watchdog, bool out_of_step);

// staged_moves(), with the same moves on all ranks. Collective likewise.
std::unique_ptr<CollectivePlan> plan_staged_moves(Rank& rank, const std::vector<Move>& moves,
                                                  const CollectiveBuffers& buffers,
                                                  SideStreams& lanes, Watchdog& watchdog,
                                                  std::uint64_t largest_piece = kLargestPiece);

// staged_reduction(). Collective likewise.
std::unique_ptr<CollectivePlan> plan_staged_reduction(Rank& rank, const Collective& collective,
                                                      const CollectiveBuffers& buffers,
                                                      SideStreams& lanes, Watchdog& watchdog,
                                                      ScheduleMemoryPool& pool,
                                                      std::uint64_t largest_piece = kLargestPiece);

}  // namespace duet
