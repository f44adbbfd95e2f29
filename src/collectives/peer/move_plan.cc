// The call: tell those who write to me that they may, wait for those whom I write to, copy, tell
// each of them, and wait for what comes. In step i rank r writes to rank r + i, so that every port
// has one partner at a time.
//
// Several lanes fill the pauses between copies of one: on 4 x H200, GB/s sent per rank of an
// all-gather of 1 MiB with 1, 2, 3 lanes: 22, 31, 29; 16 MiB: 189, 210, 217; 256 MiB: 362, 370,
// 368. With a lane for each of seven peers they collide, to half of the rate of one.
#include "collectives/peer/move_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/planning.h"

namespace duet {
namespace {

// Of one of more bytes it makes two, the first with so many.
void cut(std::vector<Copy>& copies, std::size_t index, std::size_t bytes) {
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
                   Lanes& lanes, Watchdog& watchdog, std::size_t defer_bytes)
    : peers_(rank, buffers.recv), lanes_(lanes), watched_(watchdog, peers_.waits()) {
  deliver(rank, buffers, moves(collective, rank.size));
  plan_own(rank.device, defer_bytes);
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
        if (source.data != target.data) own_.push_back({target, source, Executor::kernel, {}});
        continue;
      }
      delivery.copies.push_back({target, source, Executor::dma, {}});
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

void MovePlan::plan_own(Device& device, std::size_t defer_bytes) {
  if (own_.empty()) return;
  own_way_ = local_copy(own_, !deliveries_.empty(), defer_bytes);
  for (Copy& copy : own_) copy.shape = shape_of(own_way_);
  if (own_way_ != LocalCopy::one_warp_per_sm_deferred) return;
  before_own_ = device.make_event(EventUse::order);
  std::size_t left = defer_bytes;
  for (Delivery& delivery : deliveries_) {
    for (std::size_t i = 0; left > 0 && i < delivery.copies.size(); ++i) {
      cut(delivery.copies, i, left);
      left -= delivery.copies[i].source.bytes;
      ++pushes_before_own_;
    }
  }
}

void MovePlan::copy_own(Stream& lane) {
  if (before_own_ != nullptr) lane.wait(*before_own_);
  for (const Copy& copy : own_) lane.copy(copy);
}

// A lane tells all its peers when it is through: nobody is done before the last push has come, and
// a call to the driver takes some 1 us.
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
  const int side = lanes_in_use_ - 1;  // lanes beside the caller's stream; the next is for own_
  const int all = side + (own_.empty() ? 0 : 1);
  stream.handshake(begin_);
  lanes_.fork(stream, all);
  if (before_own_ == nullptr && !own_.empty()) copy_own(lanes_.at(side));
  std::size_t pushed = 0;
  for (std::size_t i = 0; i < deliveries_.size(); ++i) {
    const int lane = static_cast<int>(i) % lanes_in_use_;
    Stream& pushing = lane == 0 ? stream : lanes_.at(lane - 1);
    for (const Copy& copy : deliveries_[i].copies) {
      pushing.copy(copy);
      if (++pushed != pushes_before_own_) continue;
      pushing.record(*before_own_);
      copy_own(lanes_.at(side));
    }
    if (!deliveries_[i].done.signals.empty()) pushing.handshake(deliveries_[i].done);
  }
  lanes_.join(stream, all);
  stream.handshake(end_);
}

std::string MovePlan::algorithm() const {
  std::string text =
      fmt::format("direct pushes, {} {}", lanes_in_use_, lanes_in_use_ == 1 ? "lane" : "lanes");
  if (!own_.empty()) text += "; " + words(own_way_);
  return text;
}

}  // namespace duet
