// A call: signal `ready` to those that write here, wait for `ready` of those this rank writes to,
// push, signal `done` to each of them once a lane has made its last push, and wait for `done` of
// everything that arrives here. In step i rank r writes to rank r + i, so that every port has one
// partner at a time. CopyLanes::in_order is not kept: a peer gets one push a call.
//
// Several lanes fill the pauses between the copies of one. GB/s sent per rank of an all_gather on
// 4 x H200 with 1, 2, 3 lanes: 1 MiB 22, 31, 29; 16 MiB 189, 210, 217; 256 MiB 362, 370, 368. A
// lane for each of seven peers behind one switch halves the rate: copies then collide at the
// receivers.
#include "collectives/peer/move_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/planning.h"

namespace duet {
namespace {

// Splits a copy of more than `bytes` in two, the first of `bytes`.
void split(std::vector<Copy>& copies, std::size_t index, std::size_t bytes) {
  const Copy whole = copies[index];
  if (whole.source.bytes <= bytes) return;
  const std::size_t rest = whole.source.bytes - bytes;
  copies[index].source = whole.source.slice(0, bytes);
  copies[index].destination = whole.destination.slice(0, bytes);
  copies.insert(copies.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                {whole.destination.slice(bytes, rest), whole.source.slice(bytes, rest),
                 whole.executor, whole.shape});
}

}  // namespace

MovePlan::MovePlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                   SideStreams& lanes, Watchdog& watchdog, std::size_t defer_bytes)
    : peers_(rank, buffers.recv), lanes_(lanes), watched_(watchdog, peers_.waits()) {
  deliver(rank, buffers, moves(collective, rank.size));
  plan_local_copy(rank.device, defer_bytes);
  lanes_in_use_ =
      std::max(1, std::min(lanes.copying().count, static_cast<int>(deliveries_.size())));
  signal_once_per_lane();
}

void MovePlan::deliver(const Rank& rank, const CollectiveBuffers& buffers,
                       const std::vector<Move>& list) {
  for (int step = 0; step < rank.size; ++step) {
    const int to = (rank.index + step) % rank.size;
    const int from = (rank.index + rank.size - step) % rank.size;
    Delivery delivery;
    bool comes = false;
    for (const Move& move : list) {
      comes = comes || (move.from == from && move.to == rank.index);
      if (move.from != rank.index || move.to != to) continue;
      const Span source = buffers.send.slice(move.from_offset, move.bytes);
      const Span target = peers_.recv(to).slice(move.to_offset, move.bytes);
      if (to == rank.index) {
        if (source.data != target.data) local_.push_back({target, source, Executor::kernel, {}});
        continue;
      }
      delivery.copies.push_back({target, source, lanes_.copying().executor, {}});
      add_wire_bytes(move.bytes);
    }
    if (step == 0) continue;
    if (comes) {
      begin_.signals.push_back(peers_.ready_to(from));
      end_.waits.push_back(peers_.done_from(from));
    }
    if (delivery.copies.empty()) continue;
    begin_.waits.push_back(peers_.ready_from(to));
    delivery.done.signals.push_back(peers_.done_to(to));
    deliveries_.push_back(std::move(delivery));
  }
}

// Also splits the push during which a deferred local copy starts.
void MovePlan::plan_local_copy(Device& device, std::size_t defer_bytes) {
  if (local_.empty()) return;
  local_method_ = choose_local_copy(local_, !deliveries_.empty(), defer_bytes);
  for (Copy& copy : local_) copy.shape = shape_of(local_method_);
  if (local_method_ != LocalCopyMethod::one_warp_per_sm_deferred) return;
  before_local_ = device.make_event(EventUse::order);
  std::size_t left = defer_bytes;
  for (Delivery& delivery : deliveries_) {
    for (std::size_t i = 0; left > 0 && i < delivery.copies.size(); ++i) {
      split(delivery.copies, i, left);
      left -= delivery.copies[i].source.bytes;
      ++pushes_before_local_;
    }
  }
}

void MovePlan::copy_local(Stream& lane) {
  if (before_local_ != nullptr) lane.wait(*before_local_);
  for (const Copy& copy : local_) lane.copy(copy);
}

// A lane signals all its peers after its last push, because each call to the driver takes about
// 1 us. In an all_gather or all_to_all no rank ends before the last step anyway; the first
// receivers of a scatter end later than they could.
void MovePlan::signal_once_per_lane() {
  for (std::size_t i = 0; i + static_cast<std::size_t>(lanes_in_use_) < deliveries_.size(); ++i) {
    std::vector<Semaphore>& now = deliveries_[i].done.signals;
    std::vector<Semaphore>& next =
        deliveries_[i + static_cast<std::size_t>(lanes_in_use_)].done.signals;
    next.insert(next.begin(), now.begin(), now.end());
    now.clear();
  }
}

void MovePlan::enqueue(Stream& stream) {
  const int side =
      lanes_in_use_ - 1;  // lanes beside the caller's stream; the next is the local copy's
  const int all = side + (local_.empty() ? 0 : 1);
  stream.handshake(begin_);
  lanes_.fork(stream, all);
  if (before_local_ == nullptr && !local_.empty()) copy_local(lanes_.at(side));
  std::size_t pushed = 0;
  for (std::size_t i = 0; i < deliveries_.size(); ++i) {
    const int lane = static_cast<int>(i) % lanes_in_use_;
    Stream& pushing = lane == 0 ? stream : lanes_.at(lane - 1);
    for (const Copy& copy : deliveries_[i].copies) {
      pushing.copy(copy);
      if (++pushed != pushes_before_local_) continue;
      pushing.record(*before_local_);
      copy_local(lanes_.at(side));
    }
    if (!deliveries_[i].done.signals.empty()) pushing.handshake(deliveries_[i].done);
  }
  lanes_.join(stream, all);
  stream.handshake(end_);
}

std::string MovePlan::algorithm() const {
  std::string text =
      fmt::format("direct pushes, {} {}", lanes_in_use_, lanes_in_use_ == 1 ? "lane" : "lanes");
  if (!local_.empty()) text += "; " + text_of(local_method_);
  return text;
}

}  // namespace duet
