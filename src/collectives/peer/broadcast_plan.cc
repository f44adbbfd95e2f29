// Behind one link, a receiver takes as many pushes at a time as a sender has lanes: who has pushed
// to it tells who comes after. Ranks that go on freely drift until many meet at one receiver: 1 GiB
// on sim:h200-4 and -8 took 4.4 and 5.0 ms, and takes 3.5 and 3.5.
//
// Who may be ahead of whom: a rank writes to another only after that one has come to the same call
// (`ready`), and it comes to the next call only when it has had everything of this one: each piece
// of the root's, by `arrived`, for which its own pushes of that piece wait; and from each of the
// others, by `done`, that all has come. So no push to a rank is still to be made when the rank says
// `ready` once more: the flags for all of them are 0 again, and none is set before. The root may be
// a call ahead, up to its first push.
#include "collectives/peer/broadcast_plan.h"

#include <fmt/format.h>

namespace duet {
namespace {

// The root's own copy must not take longer than the links, which carry the buffer once: the 8
// blocks of 512 threads that are enough beside several transfers of its size would be the slowest
// part, most of all where all links of the root carry a share each.
KernelShape own_shape(bool shared_link) { return {shared_link ? 16 : 32, 1024}; }

}  // namespace

BroadcastPlan::BroadcastPlan(Rank& rank, const Collective& collective,
                             const CollectiveBuffers& buffers, Lanes& lanes, Watchdog& watchdog,
                             const std::vector<PieceOf>& pieces)
    : pieces_(pieces),
      root_(collective.root),
      peers_(rank, buffers.recv),
      lanes_(lanes),
      watchdog_(watchdog),
      copies_(rank.device, lanes.copying().count, lanes.copying().in_order),
      pushes_(relay_pushes(static_cast<int>(pieces.size()), others(), copies_.lanes())),
      parts_(copies_.in_order() ? 1 : others() - 1),
      arrivals_((static_cast<int>(pieces.size()) / others() + 1) * parts_),
      words_(rank, arrivals_ + static_cast<int>(pieces.size()) + others()) {
  if (rank.index == root_) {
    push_all(buffers.send);
    if (!pieces_.empty() && buffers.send.data != buffers.recv.data) {
      const std::uint64_t bytes = pieces_.back().begin + pieces_.back().bytes;
      own_ = Copy{buffers.recv.slice(0, bytes), buffers.send.slice(0, bytes), Executor::kernel,
                  own_shape(copies_.in_order())};
    }
  } else {
    push_all(buffers.recv);
    meet_others();
  }
  watchdog_.add(&peers_.waiting());
  watchdog_.add(&words_);
}

BroadcastPlan::~BroadcastPlan() {
  watchdog_.remove(&words_);
  watchdog_.remove(&peers_.waiting());
}

Flag BroadcastPlan::arrived(int owner, int piece, int part) const {
  return {words_.at(owner, piece / others() * parts_ + part)};
}

Flag BroadcastPlan::turn_of(const RelayPush& push) const {
  return {words_.at(rank_of(push.from), arrivals_ + push.turn)};
}

void BroadcastPlan::push_all(const Span& source) {
  const int rank = peers_.rank(), number = number_of(rank);
  int part = 0, last_piece = -1;
  for (const RelayPush& push : pushes_) {
    if (push.from != number) continue;
    part = push.piece == last_piece ? part + 1 : 0;
    last_piece = push.piece;
    CopyStep step = step_of(push, source);
    // In order, the first push of a piece waits for all.
    if (rank != root_ && part < parts_) step.waits.push_back(arrived(rank, push.piece, part));
    wire_bytes_ += static_cast<double>(step.copies.front().source.bytes);
    copies_.add(std::move(step));
  }
}

// A rank's first piece is the first that it pushes to anybody.
CopyStep BroadcastPlan::step_of(const RelayPush& push, const Span& source) const {
  const int to = rank_of(push.to);
  const PieceOf& now = pieces_[static_cast<std::size_t>(push.piece)];
  CopyStep step;
  step.lane = copies_.lane_for((to - peers_.rank() + peers_.size()) % peers_.size());
  if (push.piece < others()) step.waits.push_back(peers_.hear_ready(to));
  step.copies = {{peers_.recv(to).slice(now.begin, now.bytes),
                  source.slice(now.begin, now.bytes),
                  Executor::dma,
                  {}}};
  for (int part = 0; peers_.rank() == root_ && part < parts_; ++part) {
    step.signals.push_back(arrived(to, push.piece, part));
  }
  if (!copies_.in_order()) return step;
  const auto at = [&](int index) { return pushes_[static_cast<std::size_t>(index)]; };
  if (push.before >= 0 && at(push.before).from != push.from) step.waits.push_back(turn_of(push));
  if (push.after >= 0 && at(push.after).from != push.from) {
    step.signals.push_back(turn_of(at(push.after)));
  }
  return step;
}

// `done` comes when all lanes have joined: of two lanes the later push may end first.
void BroadcastPlan::meet_others() {
  const int number = number_of(peers_.rank());
  if (is_dealt_to(number)) begin_.signals.push_back(peers_.tell_ready(root_));
  for (int step = 1; step < others(); ++step) {
    const int next = (number + step) % others();
    if (is_dealt_to(number)) end_.signals.push_back(peers_.tell_done(rank_of(next)));
    if (!is_dealt_to(next)) continue;
    begin_.signals.push_back(peers_.tell_ready(rank_of(next)));
    end_.waits.push_back(peers_.hear_done(rank_of(next)));
  }
}

void BroadcastPlan::enqueue(Stream& stream) {
  watchdog_.require_all_well(name(CollectiveKind::broadcast));
  const int side = copies_.lanes() - 1;  // lanes beside the caller's stream; the next is for own_
  const int all = side + (own_ ? 1 : 0);
  if (!begin_.signals.empty()) stream.meet(begin_);
  lanes_.fork(stream, all);
  if (own_) lanes_.at(side).copy(*own_);
  copies_.enqueue(stream, lanes_);
  lanes_.join(stream, all);
  if (!end_.signals.empty() || !end_.waits.empty()) stream.meet(end_);
}

std::string BroadcastPlan::algorithm() const {
  std::string text = fmt::format("{} pieces dealt out and passed on", pieces_.size());
  if (own_) text += fmt::format("; own part by {} blocks", own_->shape.grid);
  return text;
}

}  // namespace duet
