#include "collectives/peer/scheduled_plans.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/planning.h"
#include "collectives/schedule/algorithms/broadcast_pipeline.h"
#include "collectives/schedule/algorithms/moves.h"
#include "collectives/schedule/algorithms/packets.h"
#include "collectives/schedule/algorithms/peer_kernels.h"
#include "collectives/schedule/algorithms/relay.h"
#include "collectives/schedule/algorithms/spread.h"
#include "collectives/schedule/algorithms/staged_moves.h"
#include "collectives/schedule/algorithms/staged_reduction.h"
#include "collectives/schedule/schedule_plan.h"

namespace duet {
namespace {

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

int misalignment(const Span& span, std::uint64_t offset) {
  return static_cast<int>((reinterpret_cast<std::uintptr_t>(span.data) + offset) % kVectorBytes);
}

// The numbers of all ranks, by rank.
std::vector<int> gather_numbers(Rank& rank, int mine) {
  std::vector<int> numbers;
  const auto all = rank.team.gather(rank, std::to_string(mine), "all ranks to plan a collective");
  for (const std::string& text : *all) numbers.push_back(std::stoi(text));
  return numbers;
}

bool can_send_packets(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers) {
  if (packet_bytes(collective, rank.size) == 0) return false;
  const auto shift_of = [](const Span& span) {
    return reinterpret_cast<std::uintptr_t>(span.data) % kPacketDataBytes;
  };
  const bool aligned = shift_of(buffers.send) == 0 && shift_of(buffers.recv) == 0;
  const std::vector<int> all = gather_numbers(rank, aligned ? 1 : 0);
  return std::find(all.begin(), all.end(), 0) == all.end();
}

}  // namespace

std::unique_ptr<CollectivePlan> plan_peer_kernels(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  const ScheduleSession& session) {
  const KernelOptions options{in_place(buffers), can_send_packets(rank, collective, buffers)};
  return std::make_unique<SchedulePlan>(
      rank, peer_kernels(collective, rank.index, rank.size, options), buffers, session);
}

std::unique_ptr<CollectivePlan> plan_relay(Rank& rank, const Collective& collective,
                                           const CollectiveBuffers& buffers,
                                           const ScheduleSession& session,
                                           std::uint64_t piece_bytes) {
  const std::vector<int> units = gather_numbers(rank, rank.device.info().compute_units);
  const int least = *std::min_element(units.begin(), units.end());
  const RelayOptions options{in_place(buffers), piece_bytes, std::min(kMostRelayBlocks, least)};
  return std::make_unique<SchedulePlan>(rank, relay(collective, rank.index, rank.size, options),
                                        buffers, session);
}

std::unique_ptr<CollectivePlan> plan_pulled_reduction(Rank& rank, const Collective& collective,
                                                      const CollectiveBuffers& buffers,
                                                      const ScheduleSession& session) {
  return std::make_unique<SchedulePlan>(rank, pulled_reduction(collective, rank.index, rank.size),
                                        buffers, session);
}

std::unique_ptr<CollectivePlan> plan_direct_moves(Rank& rank, const Collective& collective,
                                                  const CollectiveBuffers& buffers,
                                                  const ScheduleSession& session,
                                                  std::uint64_t defer_bytes) {
  const MoveOptions options{session.lanes->copying(), in_place(buffers),
                            own_part_aligned(rank, collective, buffers), defer_bytes};
  return std::make_unique<SchedulePlan>(
      rank, direct_moves(collective, rank.index, rank.size, options), buffers, session);
}

std::unique_ptr<CollectivePlan> plan_broadcast_pipeline(Rank& rank, const Collective& collective,
                                                        const CollectiveBuffers& buffers,
                                                        const ScheduleSession& session,
                                                        const std::vector<ByteRange>& pieces) {
  const BroadcastOptions options{collective.root, session.lanes->copying(), pieces,
                                 in_place(buffers)};
  return std::make_unique<SchedulePlan>(rank, broadcast_pipeline(rank.index, rank.size, options),
                                        buffers, session);
}

std::unique_ptr<CollectivePlan> plan_additions(Rank& rank, const Collective& collective,
                                               const CollectiveBuffers& buffers,
                                               const ScheduleSession& session,
                                               std::uint64_t largest_piece) {
  const ByteRange own = reduced_part(collective, rank.index, rank.size);
  const std::uint64_t target = reduced_target(collective, rank.index, rank.size);
  const Span from = buffers.send.slice(own.begin, own.bytes);
  const Span to = buffers.recv.slice(target, own.bytes);
  const AdditionOptions options{session.lanes->copying(), from.data == to.data,
                                aligned_alike(to, from), largest_piece};
  return std::make_unique<SchedulePlan>(rank, additions(collective, rank.index, rank.size, options),
                                        buffers, session);
}

std::unique_ptr<CollectivePlan> plan_spread(Rank& rank, const Collective& collective,
                                            const Span& recv, const ScheduleSession& session,
                                            bool out_of_step) {
  return std::make_unique<SchedulePlan>(
      rank, spread(collective, rank.index, rank.size, {session.lanes->copying(), out_of_step}),
      CollectiveBuffers{recv, recv}, session);
}

std::unique_ptr<CollectivePlan> plan_staged_moves(Rank& rank, const std::vector<Move>& moves,
                                                  const CollectiveBuffers& buffers,
                                                  const ScheduleSession& session,
                                                  std::uint64_t largest_piece) {
  StagedMoveOptions options = staged_options(rank, moves, buffers);
  options.copying = session.lanes->copying();
  options.largest_piece = largest_piece;
  return std::make_unique<SchedulePlan>(rank, staged_moves(moves, rank.index, rank.size, options),
                                        buffers, session);
}

std::unique_ptr<CollectivePlan> plan_staged_reduction(Rank& rank, const Collective& collective,
                                                      const CollectiveBuffers& buffers,
                                                      const ScheduleSession& session,
                                                      std::uint64_t largest_piece) {
  const ByteRange own = reduced_part(collective, rank.index, rank.size);
  const StagedReductionOptions options{session.lanes->copying(),
                                       gather_numbers(rank, misalignment(buffers.send, own.begin)),
                                       largest_piece};
  return std::make_unique<SchedulePlan>(
      rank, staged_reduction(collective, rank.index, rank.size, options), buffers, session);
}

}  // namespace duet
