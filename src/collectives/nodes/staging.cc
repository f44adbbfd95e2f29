#include "collectives/nodes/staging.h"

#include "collectives/schedule/algorithms/staging_slots.h"

namespace duet {
namespace {

Buffer room_for(Rank& rank, int slots, std::uint64_t slot_bytes) {
  const auto all = static_cast<std::uint64_t>(slots) * static_cast<std::uint64_t>(rank.size - 1);
  return rank.device.allocate_coherent(all * slot_bytes);
}

}  // namespace

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

Span Staging::slot(int owner, int source, int index) const {
  const int row = (source - owner + ranks_ - 1) % ranks_;
  return all_.at(owner).slice(static_cast<std::uint64_t>(row * slots_ + index) * slot_bytes_,
                              slot_bytes_);
}

}  // namespace duet
