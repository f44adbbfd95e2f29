#include "fabric/two_sided.h"

#include <algorithm>

namespace duet {
namespace {

// A token is a message's number and whether it is sent or received. A tag is a message's number and
// a piece's, with a bit set that PeerReadiness's tags do not have.
constexpr std::uint64_t kSends = 1;
constexpr int kPieceBits = 24;
constexpr std::uint64_t kDataTag = 1ull << 62;

}  // namespace

TwoSided::TwoSided(TwoSidedRole side, Traffic& traffic, RailSet& rails, const FabricLoad& load,
                   const Region& out, const Region& in, std::function<double()> now)
    : role_(side),
      traffic_(traffic),
      load_(load),
      out_(out),
      in_(in),
      now_(std::move(now)),
      cuts_(load, rails.all_living()),
      states_(load.messages.size()) {
  latencies_.reserve(load.messages.size());
}

// Twice the window: receives for the next window are posted while this one is being answered.
void TwoSided::post_receives() {
  const std::size_t ahead = 2 * static_cast<std::size_t>(load_.window);
  while (expected_ < std::min(finished_ + ahead, load_.messages.size())) expect(expected_++);
}

void TwoSided::start() { send_window(now_()); }

void TwoSided::send_window(double now) {
  const auto window = static_cast<std::size_t>(load_.window);
  while (sent_ < std::min(finished_ + window, load_.messages.size())) {
    states_[sent_].begin = now;
    send(sent_++);
  }
}

void TwoSided::expect(std::size_t message) {
  const std::vector<MessagePiece>& all = cuts_.of(load_.messages[message].sequence);
  states_[message].to_receive = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) queue(message, i, all[i], false);
}

void TwoSided::send(std::size_t message) {
  const std::vector<MessagePiece>& all = cuts_.of(load_.messages[message].sequence);
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
  // The responder's receives may wait for any time: the requester decides when to send.
  const bool watched = sends || role_ == TwoSidedRole::requester;
  traffic_.queue(piece.rail, post, *this, message << 1 | (sends ? kSends : 0), watched);
}

void TwoSided::ended(std::uint64_t token) {
  const std::size_t message = token >> 1;
  MessageState& state = states_[message];
  if ((token & kSends) != 0) {
    --state.to_send;
  } else if (--state.to_receive == 0 && role_ == TwoSidedRole::responder) {
    return send(message);
  }
  if (state.to_send == 0 && state.to_receive == 0) finish(message);
}

void TwoSided::finish(std::size_t message) {
  ++finished_;
  post_receives();
  if (role_ == TwoSidedRole::responder) return;
  const double now = now_();
  latencies_.push_back(now - states_[message].begin);
  send_window(now);
}

}  // namespace duet
