// Why calls cannot mix. A rank writes to another only after that one has signalled `ready` in the
// same call. A rank ends a call only when it has received everything: pieces that it passes on by
// `arrived`, for which its own pushes of the piece wait; all others by `done` of the ranks that
// push them. So when a rank signals `ready` again, no push to it is outstanding, and all its
// semaphores are 0. The root may be one call ahead, up to its first push.
#include "collectives/peer/broadcast_plan.h"

#include <fmt/format.h>

namespace duet {
namespace {

// The root's local copy must not take longer than the links, which carry the buffer once. The 8
// blocks of 512 threads of other collectives would be the slowest part, most of all where every
// link of the root carries a share.
KernelShape local_shape(bool shared_link) { return {shared_link ? 16 : 32, 1024}; }

}  // namespace

BroadcastPlan::BroadcastPlan(Rank& rank, const Collective& collective,
                             const CollectiveBuffers& buffers, SideStreams& lanes,
                             Watchdog& watchdog, const std::vector<ByteRange>& pieces)
    : pieces_(pieces),
      root_(collective.root),
      peers_(rank, buffers.recv),
      lanes_(lanes),
      copies_(rank.device, lanes.copying().count, lanes.copying().in_order),
      pushes_(copies_.in_order() ? passed_round(static_cast<int>(pieces.size()), others())
                                 : dealt_out(static_cast<int>(pieces.size()), others())),
      parts_(copies_.in_order() ? 1 : others() - 1),
      words_(rank, static_cast<int>(pieces.size()) * parts_),
      watched_channels_(watchdog, peers_.waits()),
      watched_words_(watchdog, words_) {
  note_relays();
  if (rank.index == root_) {
    push_all(buffers.send);
    if (!pieces_.empty() && buffers.send.data != buffers.recv.data) {
      const std::uint64_t bytes = pieces_.back().begin + pieces_.back().bytes;
      local_ = Copy{buffers.recv.slice(0, bytes), buffers.send.slice(0, bytes), Executor::kernel,
                    local_shape(copies_.in_order())};
    }
  } else {
    push_all(buffers.recv);
  }
  plan_handshakes();
}

void BroadcastPlan::note_relays() {
  relays_.assign(static_cast<std::size_t>(peers_.size()) * pieces_.size(), false);
  for (const RelayPush& push : pushes_) {
    relays_[static_cast<std::size_t>(push.from) * pieces_.size() +
            static_cast<std::size_t>(push.piece)] = true;
  }
}

bool BroadcastPlan::passes_on(int number, int piece) const {
  return relays_[static_cast<std::size_t>(number) * pieces_.size() +
                 static_cast<std::size_t>(piece)];
}

Semaphore BroadcastPlan::arrived(int owner, int piece, int part) const {
  return words_.at(owner, piece * parts_ + part);
}

void BroadcastPlan::push_all(const Span& source) {
  const int number = number_of(peers_.rank());
  int part = 0, last_piece = -1;
  for (const RelayPush& push : pushes_) {
    if (push.from != number) continue;
    part = push.piece == last_piece ? part + 1 : 0;
    last_piece = push.piece;
    copies_.add(step_of(push, source, part));
    add_wire_bytes(pieces_[static_cast<std::size_t>(push.piece)].bytes);
  }
}

// The `part`th push of its piece by this rank. In order, the first waits for all of them.
CopyStep BroadcastPlan::step_of(const RelayPush& push, const Span& source, int part) {
  const int rank = peers_.rank(), to = rank_of(push.to);
  const ByteRange& now = pieces_[static_cast<std::size_t>(push.piece)];
  CopyStep step;
  step.lane = copies_.lane_for((to - rank + peers_.size()) % peers_.size());
  if (greeted_.insert(to).second) step.waits.push_back(peers_.ready_from(to));
  if (rank != root_ && part < parts_) step.waits.push_back(arrived(rank, push.piece, part));
  step.copies = {{peers_.recv(to).slice(now.begin, now.bytes),
                  source.slice(now.begin, now.bytes),
                  lanes_.copying().executor,
                  {}}};
  for (int i = 0; passes_on(push.to, push.piece) && i < parts_; ++i) {
    step.signals.push_back(arrived(to, push.piece, i));
  }
  return step;
}

// `done` comes when all lanes have joined: of two lanes the later push may end first.
void BroadcastPlan::plan_handshakes() {
  const int number = number_of(peers_.rank());
  std::set<int> senders, last_senders, last_receivers;  // last: of what is not passed on
  for (const RelayPush& push : pushes_) {
    const bool last = !passes_on(push.to, push.piece);
    if (push.to == number) senders.insert(push.from);
    if (push.to == number && last) last_senders.insert(push.from);
    if (push.from == number && last) last_receivers.insert(push.to);
  }
  for (const int from : senders) begin_.signals.push_back(peers_.ready_to(rank_of(from)));
  for (const int to : last_receivers) end_.signals.push_back(peers_.done_to(rank_of(to)));
  for (const int from : last_senders) end_.waits.push_back(peers_.done_from(rank_of(from)));
}

void BroadcastPlan::enqueue(Stream& stream) {
  const int side =
      copies_.lanes() - 1;  // lanes beside the caller's stream; the next is the local copy's
  const int all = side + (local_ ? 1 : 0);
  if (!begin_.signals.empty()) stream.handshake(begin_);
  lanes_.fork(stream, all);
  if (local_) lanes_.at(side).copy(*local_);
  copies_.enqueue(stream, lanes_);
  lanes_.join(stream, all);
  if (!end_.signals.empty() || !end_.waits.empty()) stream.handshake(end_);
}

std::string BroadcastPlan::algorithm() const {
  std::string text =
      fmt::format("{} pieces {}", pieces_.size(),
                  copies_.in_order() ? "passed on from rank to rank" : "dealt out and passed on");
  if (local_) text += fmt::format("; local copy by {} blocks", local_->shape.grid);
  return text;
}

}  // namespace duet
