// Words over rails; see greeting.h.
#include "fabric/greeting.h"

namespace duet {
namespace {

constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kReceived = 64;  // where received words go; sent ones are at the start
// A token is a greeting's number and a peer; of words that were sent, no peer.
constexpr int kPeerBits = 20;
constexpr std::uint64_t kNoPeer = (1ull << kPeerBits) - 1;

}  // namespace

Greeting::Greeting(Traffic& traffic, RailSet& rails, int self)
    : traffic_(traffic),
      self_(self),
      region_(rails, {nullptr, words_.data(), words_.size(), MemoryKind::pageable}, self) {}

RailPost Greeting::post(RailCall call, std::uint64_t number, int peer, int rail) {
  RailPost post;
  post.call = call;
  post.peer = peer;
  post.data = words_.data() + (call == RailCall::receive ? kReceived : 0);
  post.bytes = kWordBytes;
  post.memory = region_.memory(rail);
  const int sender = call == RailCall::receive ? peer : self_;
  post.tag = number << kPeerBits | static_cast<std::uint64_t>(sender);
  return post;
}

void Greeting::expect(std::uint64_t number, const std::vector<int>& peers,
                      const std::vector<int>& rails) {
  number_ = number;
  missing_ = {peers.begin(), peers.end()};
  for (const int peer : peers) {
    const std::uint64_t token = number << kPeerBits | static_cast<std::uint64_t>(peer);
    for (const int rail : rails) {
      traffic_.queue_word(rail, post(RailCall::receive, number, peer, rail), *this, token);
    }
  }
}

void Greeting::tell(std::uint64_t number, const std::vector<int>& peers,
                    const std::vector<int>& rails) {
  for (const int peer : peers) {
    for (const int rail : rails) {
      traffic_.queue_word(rail, post(RailCall::send, number, peer, rail), *this, kNoPeer);
    }
  }
}

// Words of earlier greetings may still come over a rail that was slow.
void Greeting::ended(std::uint64_t token) {
  const std::uint64_t peer = token & kNoPeer;
  if (peer != kNoPeer && token >> kPeerBits == number_) missing_.erase(static_cast<int>(peer));
}

}  // namespace duet
