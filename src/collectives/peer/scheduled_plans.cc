#include "collectives/peer/scheduled_plans.h"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "collectives/planning.h"
#include "collectives/schedule/algorithms/broadcast_pipeline.h"
#include "collectives/schedule/algorithms/moves.h"
#include "collectives/schedule/algorithms/staged_moves.h"
#include "collectives/schedule/schedule_plan.h"

namespace duet {
namespace {

void add_streams(std::vector<Stream*>& streams, SideStreams& lanes) {
  for (int lane = 0; lane < lanes.copying().count; ++lane) streams.push_back(&lanes.at(lane));
}

bool own_part_aligned(const Rank& rank, const Collective& collective,
                      const CollectiveBuffers& buffers) {
  for (const Move& move : moves_from(collective, rank.index, rank.size)) {
    if (move.to == rank.index && !aligned_alike(buffers.recv.slice(move.to_offset, move.bytes),
                                                buffers.send.slice(move.from_offset, move.bytes)))
      return false;
  }
  return true;
}

// The spans of the rank's parts are compared by their addresses.
StagedMoveOptions staged_options(const Rank& rank, const std::vector<Move>& moves,
                                 const CollectiveBuffers& buffers) {
  StagedMoveOptions options;
  std::map<int, const std::byte*> sent;
  for (const Move& move : moves) {
    if (move.from == rank.index) sent[move.to] = buffers.send.data + move.from_offset;
  }
  for (const Move& move : moves) {
    const auto out = sent.find(move.from);
    if (move.to != rank.index || out == sent.end()) continue;
    const bool same = out->second == buffers.recv.data + move.to_offset;
    bool& option = move.from == rank.index ? options.in_place : options.swaps;
    option = option || same;
  }
  return options;
}

}  // namespace

std::unique_ptr<CollectivePlan> plan_direct_moves(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  SideStreams& lanes, Watchdog& watchdog,
                                                  std::uint64_t defer_bytes) {
  const MoveOptions options{lanes.copying(), in_place(buffers),
                            own_part_aligned(rank, collective, buffers), defer_bytes};
  std::vector<Stream*> streams;
  add_streams(streams, lanes);
  return std::make_unique<SchedulePlan>(rank,
                                        direct_moves(collective, rank.index, rank.size, options),
                                        buffers, std::move(streams), watchdog);
}

std::unique_ptr<CollectivePlan> plan_broadcast_pipeline(Rank& rank, const Collective& collective,
                                                        const CollectiveBuffers& buffers,
                                                        SideStreams& lanes, Watchdog& watchdog,
                                                        const std::vector<ByteRange>& pieces) {
  const BroadcastOptions options{collective.root, lanes.copying(), pieces, in_place(buffers)};
  std::vector<Stream*> streams;
  add_streams(streams, lanes);
  return std::make_unique<SchedulePlan>(rank, broadcast_pipeline(rank.index, rank.size, options),
                                        buffers, std::move(streams), watchdog);
}

std::unique_ptr<CollectivePlan> plan_staged_moves(Rank& rank, const std::vector<Move>& moves,
                                                  const CollectiveBuffers& buffers,
                                                  SideStreams& lanes, Watchdog& watchdog,
                                                  std::uint64_t largest_piece) {
  StagedMoveOptions options = staged_options(rank, moves, buffers);
  options.copying = lanes.copying();
  options.largest_piece = largest_piece;
  std::vector<Stream*> streams;
  add_streams(streams, lanes);
  add_streams(streams, lanes.copying_out());
  return std::make_unique<SchedulePlan>(rank, staged_moves(moves, rank.index, rank.size, options),
                                        buffers, std::move(streams), watchdog);
}

}  // namespace duet
