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
MovePlan::MovePlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                   Lanes& lanes, Watchdog& watchdog)
    : peers_(rank, buffers.recv), lanes_(lanes), watchdog_(watchdog), name_(name(collective.kind)) {
  deliver(rank, buffers, moves(collective, rank.size));
  plan_own(rank.device);
  lanes_in_use_ =
      std::max(1, std::min(lanes.copying().count, static_cast<int>(deliveries_.size())));
  tell_once_a_lane();
  watchdog_.add(&peers_.waiting());
}

MovePlan::~MovePlan() { watchdog_.remove(&peers_.waiting()); }

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
      wire_bytes_ += static_cast<double>(move.bytes);
    }
    if (step == 0) continue;
    if (comes) {
      begin_.signals.push_back(peers_.tell_ready(from));
      end_.waits.push_back(peers_.hear_done(from));
    }
    if (delivery.copies.empty()) continue;
    begin_.waits.push_back(peers_.hear_ready(to));
    delivery.done.signals.push_back(peers_.tell_done(to));
    deliveries_.push_back(std::move(delivery));
  }
}

void MovePlan::plan_own(Device& device) {
  if (own_.empty()) return;
  std::uint64_t bytes = 0;
  for (const Copy& copy : own_) bytes += copy.source.bytes;
  own_part_ = own_part(bytes, deliveries_.size());
  for (Copy& copy : own_) copy = own_part_.copy(copy.destination, copy.source);
  if (!own_part_.behind_a_push) return;
  first_push_ = device.make_event(EventUse::order);
  std::vector<Copy>& pushes = deliveries_.front().copies;
  const Copy whole = pushes.front();
  const std::size_t first = std::min(OwnPart::kHeadStart, whole.source.bytes);
  const std::size_t rest = whole.source.bytes - first;
  pushes.front().source = whole.source.slice(0, first);
  pushes.front().destination = whole.destination.slice(0, first);
  if (rest == 0) return;
  pushes.insert(
      pushes.begin() + 1,
      {whole.destination.slice(first, rest), whole.source.slice(first, rest), whole.executor, {}});
}

void MovePlan::copy_own(Stream& lane) {
  if (first_push_ != nullptr) lane.wait(*first_push_);
  for (const Copy& copy : own_) lane.copy(copy);
}

// A lane tells all its peers when it is through: nobody is done before the last push has come, and
// a call to the driver takes some 1 us.
void MovePlan::tell_once_a_lane() {
  for (std::size_t i = 0; i + static_cast<std::size_t>(lanes_in_use_) < deliveries_.size(); ++i) {
    std::vector<Flag>& now = deliveries_[i].done.signals;
    std::vector<Flag>& next = deliveries_[i + static_cast<std::size_t>(lanes_in_use_)].done.signals;
    next.insert(next.begin(), now.begin(), now.end());
    now.clear();
  }
}

void MovePlan::enqueue(Stream& stream) {
  watchdog_.require_all_well(name_);
  const int side = lanes_in_use_ - 1;  // lanes beside the caller's stream; the next is for own_
  const int all = side + (own_.empty() ? 0 : 1);
  stream.meet(begin_);
  lanes_.fork(stream, all);
  if (first_push_ == nullptr && !own_.empty()) copy_own(lanes_.at(side));
  for (std::size_t i = 0; i < deliveries_.size(); ++i) {
    const int lane = static_cast<int>(i) % lanes_in_use_;
    Stream& pushing = lane == 0 ? stream : lanes_.at(lane - 1);
    for (const Copy& copy : deliveries_[i].copies) {
      pushing.copy(copy);
      if (first_push_ == nullptr || &copy != &deliveries_.front().copies.front()) continue;
      pushing.record(*first_push_);
      copy_own(lanes_.at(side));
    }
    if (!deliveries_[i].done.signals.empty()) pushing.meet(deliveries_[i].done);
  }
  lanes_.join(stream, all);
  stream.meet(end_);
}

std::string MovePlan::algorithm() const {
  std::string text =
      fmt::format("direct pushes, {} {}", lanes_in_use_, lanes_in_use_ == 1 ? "lane" : "lanes");
  if (!own_.empty()) text += "; " + own_part_.words();
  return text;
}

}  // namespace duet
