#include "fabric/one_sided.h"

#include <algorithm>

namespace duet {
namespace {

RailCall call_of(FabricOperation operation, bool last) {
  if (operation == FabricOperation::read) return RailCall::read;
  const bool with_immediate = operation == FabricOperation::write_imm && last;
  return with_immediate ? RailCall::write_imm : RailCall::write;
}

}  // namespace

OneSided::OneSided(Traffic& traffic, RailSet& rails, const FabricLoad& load, const Region& here,
                   const Region& there, std::function<double()> now)
    : traffic_(traffic),
      rails_(rails),
      load_(load),
      here_(here),
      there_(there),
      now_(std::move(now)),
      cuts_(load, rails.all_living()),
      progress_(load.messages.size()) {
  latencies_.reserve(load.messages.size());
  ends_.reserve(load.messages.size());
}

void OneSided::start() {
  started_ = true;
  const auto window = static_cast<std::size_t>(load_.window);
  while (next_ < std::min(window, size())) begin(next_++, now_());
}

void OneSided::open(std::size_t message) { begin(message, now_()); }

void OneSided::begin(std::size_t message, double now) {
  const std::vector<MessagePiece>& pieces = cuts_.of(load_.messages[message].sequence);
  progress_[message] = {now, pieces.size()};
  for (const MessagePiece& piece : pieces) queue({message, piece});
}

// The rail itself, or in place of a lost one the living rails in rotation.
int OneSided::living_rail(int rail) {
  if (rails_.living(rail)) return rail;
  const std::vector<int> living = rails_.all_living();
  return living[replaced_++ % living.size()];
}

void OneSided::queue(PendingPiece pending) {
  pending.piece.rail = living_rail(pending.piece.rail);
  if (free_.empty()) {
    free_.push_back(pending_.size());
    pending_.emplace_back();
  }
  const std::uint64_t token = free_.back();
  free_.pop_back();
  pending_[token] = pending;
  const Message& message = load_.messages[pending.message];
  const int rail = pending.piece.rail;
  RailPost post;
  post.call = call_of(load_.operation, pending.piece.last);
  post.peer = message.peer;
  post.data = here_.data() + message.local + pending.piece.offset;
  post.bytes = pending.piece.bytes;
  post.memory = here_.memory(rail);
  post.immediate = static_cast<std::uint32_t>(pending.message);
  post.remote_offset = message.remote + pending.piece.offset;
  post.remote = there_.remote(message.peer, rail);
  traffic_.queue(rail, post, *this, token, true);
}

void OneSided::ended(std::uint64_t token) {
  const std::size_t message = pending_[token].message;
  free_.push_back(token);
  MessageProgress& progress = progress_[message];
  if (--progress.pieces > 0) return;
  const double now = now_();
  latencies_.push_back(now - progress.begin);
  ends_.push_back(message);
  if (started_ && next_ < size()) begin(next_++, now);
}

bool OneSided::lost(int, const std::vector<std::uint64_t>& tokens) {
  for (const std::uint64_t token : tokens) {
    free_.push_back(token);
    queue(PendingPiece(pending_[token]));
  }
  return true;
}

}  // namespace duet
