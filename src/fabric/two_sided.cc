// Two-sided operations; see two_sided.h.
#include "fabric/two_sided.h"

#include <algorithm>

namespace duet {
namespace {

// A token is a message and what it is of it; a tag, a message and a piece. The highest bit of a tag
// is set: others are for those who meet before a load.
constexpr std::uint64_t kSends = 1;
constexpr int kPieceBits = 24;
constexpr std::uint64_t kDataTag = 1ull << 62;

}  // namespace

TwoSided::TwoSided(Side side, Traffic& traffic, RailSet& rails, const FabricLoad& load,
                   const Region& out, const Region& in, std::function<double()> now)
    : side_(side),
      traffic_(traffic),
      load_(load),
      out_(out),
      in_(in),
      now_(std::move(now)),
      cuts_(load, rails.all_living()),
      states_(load.messages.size()) {
  latencies_.reserve(load.messages.size());
}

// Twice the window: the next one's buffers wait while this one's are being answered.
void TwoSided::post_receives() {
  const std::size_t ahead = 2 * static_cast<std::size_t>(load_.window);
  while (expected_ < std::min(ended_ + ahead, load_.messages.size())) expect(expected_++);
}

void TwoSided::start() { ask(now_()); }

void TwoSided::ask(double now) {
  const auto window = static_cast<std::size_t>(load_.window);
  while (sent_ < std::min(ended_ + window, load_.messages.size())) {
    states_[sent_].begin = now;
    send(sent_++);
  }
}

void TwoSided::expect(std::size_t message) {
  const std::vector<MessagePiece>& all = cuts_.of(load_.messages[message].turn);
  states_[message].to_receive = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) queue(message, i, all[i], false);
}

void TwoSided::send(std::size_t message) {
  const std::vector<MessagePiece>& all = cuts_.of(load_.messages[message].turn);
  states_[message].to_send = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) queue(message, i, all[i], true);
}

void TwoSided::queue(std::size_t message, std::size_t index, const MessagePiece& piece,
                     bool sends) {
  const Region& region = sends ? out_ : in_;
  RailPost post;
  post.call = sends ? RailCall::send : RailCall::receive;
  post.peer = load_.messages[message].peer;
  post.data = region.data() + load_.messages[message].local + piece.offset;
  post.bytes = piece.bytes;
  post.memory = region.memory(piece.rail);
  post.tag = kDataTag | message << kPieceBits | index;
  // The side that answers waits as long as it is asked nothing.
  const bool watched = sends || side_ == Side::asks;
  traffic_.queue(piece.rail, post, *this, message << 1 | (sends ? kSends : 0), watched);
}

void TwoSided::ended(std::uint64_t token) {
  const std::size_t message = token >> 1;
  State& state = states_[message];
  if ((token & kSends) != 0) {
    --state.to_send;
  } else if (--state.to_receive == 0 && side_ == Side::answers) {
    return send(message);
  }
  if (state.to_send == 0 && state.to_receive == 0) finish(message);
}

void TwoSided::finish(std::size_t message) {
  ++ended_;
  post_receives();
  if (side_ == Side::answers) return;
  const double now = now_();
  latencies_.push_back(now - states_[message].begin);
  ask(now);
}

}  // namespace duet
