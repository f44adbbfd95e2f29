#include "nccl_shim/protocol/exchange_calls.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace duet::nccl_shim {
namespace {

// In each rank's memory stand packet buffers of all peers for calls of even numbers, and of odd
// ones, and the number of the last call. How long the first two are:
std::size_t turn_bytes(int ranks, std::size_t most) {
  return static_cast<std::size_t>(ranks - 1) * packet_bytes(most);
}

std::size_t peers_of(int ranks) { return static_cast<std::size_t>(ranks - 1); }

const char* at(const void* base, std::size_t offset) {
  return static_cast<const char*>(base) + offset;
}
char* at(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

// Where the part of a rank is that `rank` sends to `to`, of kinds in which each rank sends some.
std::size_t sent_at(const Call& call, int to, int ranks) {
  if (call.kind == Kind::all_gather) return 0;
  if (call.kind == Kind::all_reduce) return reduced_part(call, to, ranks).from;
  return static_cast<std::size_t>(to) * call.bytes;
}

// Where `rank`'s part is received, likewise: of reductions the result.
std::size_t received_at(const Call& call, int rank, int ranks) {
  if (reduces(call.kind)) return reduced_part(call, rank, ranks).to;
  return static_cast<std::size_t>(rank) * call.bytes;
}

}  // namespace

std::size_t ExchangeCalls::packet_bytes(int ranks, const Method& method) {
  if (method.most_by_packets == 0) return 0;
  return aligned(2 * turn_bytes(ranks, method.most_by_packets) +
                 kPacketBlocks * sizeof(std::uint32_t));
}

// Behind the buffers for peers stands the state of the blocks.
std::size_t ExchangeCalls::chunk_bytes(int ranks, const Method& method) {
  if (!method.has_chunks()) return 0;
  const std::size_t peers = peers_of(ranks);
  return peers * chunk_buffer_bytes(peers, method.chunk_round) + kChunkStateBytes;
}

// Of a broadcast not all ranks would wait for all, as the turns of packet buffers need.
bool ExchangeCalls::by_packets(const Call& call) const {
  return call.kind != Kind::broadcast && all_bytes(call, ranks_) <= method_.most_by_packets;
}

bool ExchangeCalls::by_chunks(const Call& call, bool captured) const {
  const ChunkSizes& sizes = method_.chunks[static_cast<std::size_t>(call.kind)];
  const std::size_t most = captured ? sizes.most_captured : sizes.most;
  return !by_packets(call) && all_bytes(call, ranks_) <= most;
}

std::size_t ExchangeCalls::buffer(int source, int receiver, std::size_t bytes) const {
  const int place = source < receiver ? source : source - 1;
  return static_cast<std::size_t>(place) * bytes;
}

void ExchangeCalls::enqueue_packets(const Call& call, Stream user) {
  const bool of_one = call.kind == Kind::all_gather || call.kind == Kind::all_reduce;
  const auto* const send = static_cast<const char*>(call.send);
  auto* const receive = static_cast<char*>(call.receive);
  const auto sent_to = [&](int rank) {
    return send + (of_one ? 0 : static_cast<std::size_t>(rank) * call.bytes);
  };
  const bool reduced = reduces(call.kind);
  const auto received_from = [&](int rank) {
    return receive + (reduced ? 0 : static_cast<std::size_t>(rank) * call.bytes);
  };
  const std::size_t each = nccl_shim::packet_bytes(method_.most_by_packets);
  char* const own = memory_.packets();
  PacketExchange exchanged{};
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    exchanged.peers.push_back({sent_to(peer), memory_.packets_of(peer) + buffer(rank_, peer, each),
                               own + buffer(peer, rank_, each),
                               reduced ? nullptr : received_from(peer)});
  }
  exchanged.rank = rank_;
  exchanged.own = sent_to(rank_);
  exchanged.result = received_from(rank_);
  if (reduced) exchanged.reduced = {call.type, call.reduction};
  exchanged.bytes = call.bytes;
  exchanged.turn = turn_bytes(ranks_, method_.most_by_packets);
  exchanged.last = reinterpret_cast<std::uint32_t*>(own + 2 * exchanged.turn);
  exchanged.words = &own_words();
  device_.exchange(user, exchanged);
}

// Parts of a reduction of all ranks are equal or, of an all_reduce, as long as reduced_part() says.
void ExchangeCalls::add_parts(ChunkExchange& exchanged, const Call& call) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    exchanged.parts.push_back(reduces(call.kind) ? reduced_part(call, rank, ranks_).bytes
                                                 : call.bytes);
    if (rank == rank_) continue;
    exchanged.peers.push_back({at(call.send, sent_at(call, rank, ranks_)), nullptr, nullptr,
                               at(call.receive, received_at(call, rank, ranks_))});
  }
  exchanged.own = at(call.send, sent_at(call, rank_, ranks_));
  exchanged.result = at(call.receive, received_at(call, rank_, ranks_));
  if (reduces(call.kind)) exchanged.reduced = {call.type, call.reduction};
  exchanged.passes_on = call.kind == Kind::all_reduce;
}

// The root sends each other rank a part of the buffer, which that rank passes on to the others: so
// the root's links carry the buffer once, whatever the number of ranks. Of two ranks there is one
// part, and nobody to pass it on to.
void ExchangeCalls::add_broadcast(ChunkExchange& exchanged, const Call& call) const {
  const bool is_root = rank_ == call.root;
  const std::size_t most = aligned((call.bytes + peers_of(ranks_) - 1) / peers_of(ranks_));
  std::size_t begin = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::size_t bytes = rank == call.root ? 0 : std::min(most, call.bytes - begin);
    char* const received = at(call.receive, begin);
    exchanged.parts.push_back(bytes);
    if (rank == rank_) {
      exchanged.result = is_root ? nullptr : received;
    } else if (is_root) {
      exchanged.peers.push_back(
          {at(call.send, begin), nullptr, nullptr, call.send == call.receive ? nullptr : received});
    } else {
      exchanged.peers.push_back({nullptr, nullptr, nullptr, received});
    }
    begin += bytes;
  }
  // With two ranks what is taken goes to the peer's target.
  if (ranks_ == 2 && !is_root) exchanged.peers.front().receive = exchanged.result;
  exchanged.root = call.root;
  exchanged.passes_on = ranks_ > 2;
}

void ExchangeCalls::set_buffers(ChunkExchange& exchanged) const {
  const std::size_t peers = peers_of(ranks_);
  const std::size_t each = chunk_buffer_bytes(peers, method_.chunk_round);
  char* const own = memory_.chunks();
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    ChunkExchange::Peer& set =
        exchanged.peers[static_cast<std::size_t>(peer < rank_ ? peer : peer - 1)];
    set.to = memory_.chunks_of(peer) + buffer(rank_, peer, each);
    set.from = own + buffer(peer, rank_, each);
  }
  exchanged.last = reinterpret_cast<std::uint32_t*>(own + peers * each);
}

void ExchangeCalls::enqueue_chunks(const Call& call, Stream user) {
  ChunkExchange exchanged{};
  exchanged.rank = rank_;
  exchanged.round = method_.chunk_round;
  exchanged.words = &own_words();
  if (call.kind == Kind::broadcast) {
    add_broadcast(exchanged, call);
  } else {
    add_parts(exchanged, call);
  }
  set_buffers(exchanged);
  device_.exchange(user, exchanged);
}

// The word may have been set by an exchange that has ended since. So it is cleared: an exchange
// that still waits sets it again within a millisecond, or in its context's next time slice. Twice,
// since a thread of the device that was held back may set it once more after its data have come.
bool ExchangeCalls::waits_for(int peer) const {
  constexpr std::chrono::milliseconds kAnswer{20};
  Word& awaited = own_words().awaited[peer];
  for (int question = 0; question < 2; ++question) {
    if (awaited.exchange(0) == 0) return false;
    std::this_thread::sleep_for(kAnswer);
  }
  return awaited.load(std::memory_order_acquire) != 0;
}

void ExchangeCalls::end_own_waits() { own_words().ended.store(1, std::memory_order_release); }

}  // namespace duet::nccl_shim
