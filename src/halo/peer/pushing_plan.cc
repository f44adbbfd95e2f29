#include "halo/peer/pushing_plan.h"

#include <fmt/format.h>

namespace duet {
namespace {

constexpr CopyLanes kTwoLanes{3, false};  // the caller's stream and one for each neighbour

}  // namespace

PushingPlan::PushingPlan(Rank& rank, const HaloTask& task, Executor executor, Watchdog& watchdog,
                         MemoryKind semaphores)
    : overlap_(task.overlap),
      executor_(executor),
      parts_(rank, task),
      lanes_(executor == Executor::dma || task.overlap
                 ? std::make_unique<SideStreams>(rank.device, kTwoLanes)
                 : nullptr),
      fields_(rank, task.grid),
      semaphores_(rank, fields_.ring(), semaphores),
      watched_(watchdog, semaphores_.waits()) {}

void PushingPlan::push(Stream& stream, SideOfRank side, int parity) {
  const bool up = side == SideOfRank::above;
  const Span to = up ? fields_.halo_above(parity) : fields_.halo_below(parity);
  const Span from = row_at(field(parity), shape(), up ? 1 : shape().rows);
  stream.copy({to, from, executor_, {}});
}

void PushingPlan::exchange(Stream& stream, int parity) {
  if (lanes_ == nullptr) {
    for (const SideOfRank side : kSides) push(stream, side, parity);
    stream.handshake(
        {{semaphores_.to(SideOfRank::above, parity), semaphores_.to(SideOfRank::below, parity)},
         {}});
    return;
  }
  lanes_->fork(stream, 2);
  for (const SideOfRank side : kSides) {
    Stream& lane = lanes_->at(static_cast<int>(side));
    push(lane, side, parity);
    lane.handshake({{semaphores_.to(side, parity)}, {}});
  }
}

void PushingPlan::enqueue(Stream& stream, const Iteration& iteration) {
  const int written = 1 - iteration.parity;
  const Span from = field(iteration.parity), to = field(written);
  parts_.sweep_before(stream, from, to, iteration.partials);
  exchange(stream, written);
  parts_.sweep_beside(stream, from, to, iteration.partials);
  if (lanes_ != nullptr) lanes_->join(stream, 2);
  stream.handshake({{},
                    {semaphores_.from(SideOfRank::above, written),
                     semaphores_.from(SideOfRank::below, written)}});
}

std::string PushingPlan::algorithm() const {
  return fmt::format("{}, pushes by {}", overlap_ ? "boundary first" : "whole sweep first",
                     name(executor_));
}

}  // namespace duet
