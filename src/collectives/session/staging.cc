#include "collectives/session/staging.h"

#include <algorithm>

#include "core/deadline.h"

namespace duet {
namespace {

// Other processes map memory of whole pages fast (docs/collectives.md), and slots begin aligned.
constexpr std::uint64_t kPage = 64 << 10;

// Two lanes fill the pauses between copies: a reduce_scatter of 64 MiB on 4 x H200 moves 215
// instead of 193 GB/s. For large pieces one lane keeps them in better order.
constexpr std::uint64_t kOneLaneFrom = 32 << 20;

constexpr std::size_t kSendTokenFromPieces = 5;  // pieces; staging.h says why

Buffer room_for(Rank& rank, int slots, std::uint64_t slot_bytes) {
  const auto all = static_cast<std::uint64_t>(slots) * static_cast<std::uint64_t>(rank.size - 1);
  return rank.device.allocate_coherent(all * slot_bytes);
}

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

Staging::Staging(Rank& rank, int slots, std::uint64_t slot_bytes)
    : device_(rank.device),
      rank_(rank.index),
      ranks_(rank.size),
      slots_(slots),
      slot_bytes_(slot_bytes_for(slot_bytes)),
      semaphores_(rank, 2 * rank.size * slots),
      all_(
          rank, [&] { return room_for(rank, slots, slot_bytes_); },
          "the other ranks' staging memory") {
  for (int to = 0; to < ranks_; ++to) {
    for (int index = 0; index < slots_; ++index) rank.device.signal(free_from(to, index), 1);
  }
}

void poison_slots(Device& device, const Span& slots) {
  const auto stream = device.make_stream();
  stream->fill(slots, {FillKind::constant, 0xDB, 0, DType::fp32});
  stream->synchronize(kDefaultDeadlineSeconds);
}

Span Staging::slot(int owner, int source, int index) const {
  const int row = (source - owner + ranks_ - 1) % ranks_;
  return all_.at(owner).slice(static_cast<std::uint64_t>(row * slots_ + index) * slot_bytes_,
                              slot_bytes_);
}

}  // namespace duet
