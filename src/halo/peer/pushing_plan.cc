#include "halo/peer/pushing_plan.h"

#include <fmt/format.h>

namespace duet {
namespace {

constexpr CopyLanes kTwoLanes{3, false};  // the caller's stream and one for each neighbour

}  // namespace

PushingPlan::PushingPlan(Rank& rank, const HaloTask& task, Executor executor, Watchdog& watchdog)
    : overlap_(task.overlap),
      executor_(executor),
      sweeper_(make_sweeper(rank.device)),
      lanes_(executor == Executor::dma ? std::make_unique<SideStreams>(rank.device, kTwoLanes)
                                       : nullptr),
      fields_(rank, task.grid),
      semaphores_(rank, fields_.ring()),
      watched_(watchdog, semaphores_.waits()) {}

PushingPlan::Parts PushingPlan::before() const {
  if (!overlap_) return {{1, shape().rows + 1}, {}};
  const BoundaryRows boundary = boundary_of(shape());
  return {boundary.first, boundary.last};
}

PushingPlan::Parts PushingPlan::beside() const {
  if (!overlap_) return {};
  return {interior_of(shape()), {}};
}

std::int64_t PushingPlan::partials_of(const Parts& parts) const {
  return parts.count() == 0 ? 0 : sweeper_->partials(shape(), parts.first, parts.also);
}

std::int64_t PushingPlan::partials() const { return partials_of(before()) + partials_of(beside()); }

void PushingPlan::sweep(Stream& stream, const Iteration& iteration, const Parts& parts,
                        const Span& partials) {
  if (parts.count() == 0) return;
  sweeper_->sweep(stream, {shape(), field(iteration.parity), field(1 - iteration.parity),
                           parts.first, parts.also, partials});
}

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
  const bool norm = iteration.partials.bytes > 0;
  const auto bytes = static_cast<std::size_t>(partials_of(before())) * sizeof(double);
  const Span early = norm ? iteration.partials.slice(0, bytes) : Span{};
  const Span late =
      norm ? iteration.partials.slice(bytes, iteration.partials.bytes - bytes) : Span{};
  sweep(stream, iteration, before(), early);
  exchange(stream, written);
  sweep(stream, iteration, beside(), late);
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
