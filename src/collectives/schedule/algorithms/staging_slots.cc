#include "collectives/schedule/algorithms/staging_slots.h"

#include <algorithm>

namespace duet {
namespace {

// Other processes map memory of whole pages fast (docs/collectives.md), and slots begin aligned.
constexpr std::uint64_t kPage = 64 << 10;

// Two lanes fill the pauses between copies: a reduce_scatter of 64 MiB on 4 x H200 moves 215
// instead of 193 GB/s. For large pieces one lane keeps them in better order.
constexpr std::uint64_t kOneLaneFrom = 32 << 20;

constexpr std::size_t kSendTokenFromPieces = 5;  // pieces; staging_slots.h says why

constexpr int kMostSlots = 2;  // for each sender

constexpr int kFull = 0, kFree = 1, kFirstToken = 2, kToken = 3;

}  // namespace

int slots_for(std::size_t pieces) {
  return static_cast<int>(std::clamp<std::size_t>(pieces, 1, kMostSlots));
}

std::uint64_t slot_bytes_for(std::uint64_t largest_piece) {
  return (largest_piece + kPage - 1) / kPage * kPage;
}

int lanes_for(CopyLanes lanes, std::uint64_t largest_piece) {
  return lanes.in_order && largest_piece >= kOneLaneFrom ? 1 : lanes.count;
}

bool needs_send_token(CopyLanes lanes, std::size_t pieces) {
  return lanes.in_order && pieces >= kSendTokenFromPieces;
}

StagingSlots::StagingSlots(int rank, int ranks, std::size_t most_pieces, std::uint64_t largest,
                           bool with_tokens)
    : rank_(rank),
      ranks_(ranks),
      count_(slots_for(most_pieces)),
      most_pieces_(most_pieces),
      slot_bytes_(slot_bytes_for(largest)),
      has_tokens_(with_tokens && ranks > 2) {}

RankSchedule StagingSlots::schedule() const {
  RankSchedule schedule;
  schedule.rank = rank_;
  schedule.ranks = ranks_;
  schedule.semaphores = {
      {"full", count_}, {"free", count_, 1}, {"first token", 1, 1, true}, {"token", 1, 0, true}};
  schedule.slot_bytes = static_cast<std::uint64_t>((ranks_ - 1) * count_) * slot_bytes_;
  return schedule;
}

Place StagingSlots::at(int owner, int source, std::size_t piece, std::uint64_t bytes) const {
  const int row = (source - owner + ranks_ - 1) % ranks_;
  return {BufferRole::slots, owner,
          static_cast<std::uint64_t>(row * count_ + slot_of(piece)) * slot_bytes_, bytes};
}

SemaphoreAt StagingSlots::full(int owner, int source, std::size_t piece) const {
  return {kFull, owner, source, slot_of(piece)};
}

SemaphoreAt StagingSlots::free(int owner, int receiver, std::size_t piece) const {
  return {kFree, owner, receiver, slot_of(piece)};
}

// The token of `to`, at `owner`.
SemaphoreAt StagingSlots::token(int owner, int to) const {
  return {(owner + 1) % ranks_ == to ? kFirstToken : kToken, owner, to, 0};
}

Step StagingSlots::push(int to) const {
  Step step;
  if (!has_tokens_) return step;
  const int before = (rank_ + ranks_ - 1) % ranks_;
  step.waits = {token(rank_, to)};
  step.signals = {token(before == to ? (to + ranks_ - 1) % ranks_ : before, to)};
  return step;
}

}  // namespace duet
