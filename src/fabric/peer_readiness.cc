#include "fabric/peer_readiness.h"

namespace duet {
namespace {

constexpr std::uint64_t kReadyBytes = 8;
constexpr std::uint64_t kReceived = 64;  // offset of received messages; sent ones are at 0
// A token is an iteration's number and a peer; of sent messages, kNoPeer.
constexpr int kPeerBits = 20;
constexpr std::uint64_t kNoPeer = (1ull << kPeerBits) - 1;

}  // namespace

PeerReadiness::PeerReadiness(Traffic& traffic, RailSet& rails, int self)
    : traffic_(traffic),
      self_(self),
      region_(rails, {nullptr, bytes_.data(), bytes_.size(), MemoryKind::pageable}, self) {}

RailPost PeerReadiness::post(RailCall call, std::uint64_t number, int peer, int rail) {
  RailPost post;
  post.call = call;
  post.peer = peer;
  post.data = bytes_.data() + (call == RailCall::receive ? kReceived : 0);
  post.bytes = kReadyBytes;
  post.memory = region_.memory(rail);
  const int sender = call == RailCall::receive ? peer : self_;
  post.tag = number << kPeerBits | static_cast<std::uint64_t>(sender);
  return post;
}

void PeerReadiness::expect(std::uint64_t number, const std::vector<int>& peers,
                           const std::vector<int>& rails) {
  number_ = number;
  missing_ = {peers.begin(), peers.end()};
  for (const int peer : peers) {
    const std::uint64_t token = number << kPeerBits | static_cast<std::uint64_t>(peer);
    for (const int rail : rails) {
      traffic_.queue_control(rail, post(RailCall::receive, number, peer, rail), *this, token);
    }
  }
}

void PeerReadiness::announce(std::uint64_t number, const std::vector<int>& peers,
                             const std::vector<int>& rails) {
  for (const int peer : peers) {
    for (const int rail : rails) {
      traffic_.queue_control(rail, post(RailCall::send, number, peer, rail), *this, kNoPeer);
    }
  }
}

// Messages of earlier iterations may still come over a slow rail.
void PeerReadiness::ended(std::uint64_t token) {
  const std::uint64_t peer = token & kNoPeer;
  if (peer != kNoPeer && token >> kPeerBits == number_) missing_.erase(static_cast<int>(peer));
}

}  // namespace duet
