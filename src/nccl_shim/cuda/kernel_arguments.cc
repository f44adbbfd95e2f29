#include "nccl_shim/cuda/kernel_arguments.h"

#include <algorithm>
#include <cstddef>

#include "core/chunks.h"
#include "core/error.h"
#include "device/collective_kernel.h"

namespace duet::nccl_shim::cuda {
namespace {

WordsOnDevice words_on_device(std::uintptr_t words) {
  const auto word = [words](std::size_t offset) {
    return reinterpret_cast<std::uint32_t*>(words + offset);
  };
  return {word(offsetof(ExchangeWords, ended)), word(offsetof(ExchangeWords, awaited))};
}

unsigned char* bytes_at(const void* address) {
  return static_cast<unsigned char*>(const_cast<void*>(address));
}

// 1 where an average is not asked for.
std::int32_t divisor_of(const Exchange& exchanged) {
  const bool averages = exchanged.reduced && exchanged.reduced->reduction == Reduction::avg;
  return averages ? static_cast<std::int32_t>(exchanged.peers.size() + 1) : 1;
}

int rank_of_peer(const Exchange& exchanged, std::size_t peer) {
  const int place = static_cast<int>(peer);
  return place < exchanged.rank ? place : place + 1;
}

// What goes between this rank and peer `place`, in both directions and passes.
gpu::ChunkTable::Peer chunk_peer(const ChunkExchange& exchanged, std::size_t place) {
  const ChunkExchange::Peer& peer = exchanged.peers[place];
  const int rank = rank_of_peer(exchanged, place);
  const std::size_t own = exchanged.parts[static_cast<std::size_t>(exchanged.rank)];
  const std::size_t of_peer = exchanged.parts[static_cast<std::size_t>(rank)];
  const int root = exchanged.root.value_or(-1);
  const bool one_sends = exchanged.root.has_value(), is_root = root == exchanged.rank;
  gpu::ChunkTable::Peer made{};
  made.source = bytes_at(peer.send);
  made.kept = is_root ? bytes_at(peer.receive) : nullptr;
  made.to = bytes_at(peer.to);
  made.from = bytes_at(peer.from);
  made.target = is_root ? nullptr : bytes_at(peer.receive);
  made.sent = !one_sends || is_root ? of_peer : 0;
  made.brought = !one_sends || root == rank ? own : 0;
  made.passed = exchanged.passes_on && root != rank ? own : 0;
  made.returned = exchanged.passes_on && !is_root ? of_peer : 0;
  return made;
}

// In bytes, of words of which all addresses of users' buffers are multiples.
std::uint32_t common_width(const gpu::ChunkTable& table) {
  std::uintptr_t together =
      reinterpret_cast<std::uintptr_t>(table.own) | reinterpret_cast<std::uintptr_t>(table.result);
  for (std::uint32_t i = 0; i < table.count; ++i) {
    const gpu::ChunkTable::Peer& peer = table.peers[i];
    for (const void* each :
         std::initializer_list<const void*>{peer.source, peer.kept, peer.target}) {
      together |= reinterpret_cast<std::uintptr_t>(each);
    }
  }
  return together % 16 == 0 ? 16 : together % 4 == 0 ? 4 : 1;
}

}  // namespace

PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words) {
  if (exchanged.peers.size() > kMostPacketPeers) throw BadArgument("expected at most 16 peers");
  PacketArguments made{};
  gpu::PacketTable& table = made.exchange;
  for (const PacketExchange::Peer& each : exchanged.peers) {
    table.peers[table.count++] = {static_cast<const unsigned char*>(each.send),
                                  static_cast<unsigned char*>(each.to),
                                  static_cast<unsigned char*>(const_cast<void*>(each.from)),
                                  static_cast<unsigned char*>(each.receive)};
  }
  table.own = static_cast<const unsigned char*>(exchanged.own);
  table.result = static_cast<unsigned char*>(exchanged.result);
  table.last = exchanged.last;
  table.bytes = exchanged.bytes;
  table.turn = exchanged.turn;
  table.rank = static_cast<std::uint32_t>(exchanged.rank);
  table.divisor = divisor_of(exchanged);
  table.places = kPacketBlocks;
  table.aligned = gpu::has_aligned_parts(table);
  made.words = words_on_device(words);
  return made;
}

ChunkArguments chunk_arguments(const ChunkExchange& exchanged, std::uintptr_t words) {
  const std::size_t peers = exchanged.peers.size();
  if (peers > kMostPacketPeers) throw BadArgument("expected at most 16 peers");
  const std::size_t longest = *std::max_element(exchanged.parts.begin(), exchanged.parts.end());
  const ChunkShape shape = chunk_shape(longest, peers, exchanged.round);
  ChunkArguments made{};
  gpu::ChunkTable& table = made.exchange;
  table.own = bytes_at(exchanged.own);
  table.result = bytes_at(exchanged.result);
  table.last = exchanged.last;
  table.ended = exchanged.last + kMostChunkBlocks;
  table.own_bytes = exchanged.parts[static_cast<std::size_t>(exchanged.rank)];
  table.share = shape.share;
  table.chunk = shape.bytes;
  table.room = chunk_room(peers, exchanged.round);
  table.chunks = shape.count;
  table.rank = static_cast<std::uint32_t>(exchanged.rank);
  table.divisor = divisor_of(exchanged);
  table.passes = exchanged.passes_on ? 2 : 1;
  table.origin = static_cast<std::uint32_t>(peers);
  table.is_one_source = exchanged.own != nullptr && !exchanged.reduced ? 1 : 0;
  for (; table.count < peers; ++table.count) {
    const ChunkExchange::Peer& peer = exchanged.peers[table.count];
    table.peers[table.count] = chunk_peer(exchanged, table.count);
    if (exchanged.root == rank_of_peer(exchanged, table.count)) table.origin = table.count;
    if (peer.send != exchanged.own) table.is_one_source = 0;
  }
  table.width = common_width(table);
  made.words = words_on_device(words);
  made.blocks = shape.blocks;
  return made;
}

int reduce_blocks(const PartsToReduce& reduced) {
  constexpr std::size_t kRound = std::size_t{16} * kKernelThreads;
  const auto most =
      static_cast<std::size_t>(blocks_that_reduce(static_cast<int>(reduced.parts.size())));
  return static_cast<int>(std::min(most, (reduced.bytes + kRound - 1) / kRound));
}

ReduceArguments reduce_arguments(const PartsToReduce& reduced, int blocks) {
  if (reduced.parts.size() > kMostParts) throw BadArgument("expected at most 8 parts");
  ReduceArguments made{};
  std::uintptr_t apart = 0;
  const auto add = [&](const void* address) {
    made.addresses[made.parts] = static_cast<unsigned char*>(const_cast<void*>(address));
    apart |= reinterpret_cast<std::uintptr_t>(address) ^
             reinterpret_cast<std::uintptr_t>(made.addresses[0]);
  };
  for (const void* part : reduced.parts) {
    add(part);
    ++made.parts;
  }
  add(reduced.to);
  made.bytes = reduced.bytes;
  made.share = static_cast<std::uint32_t>((block_slice(reduced.bytes, 0, blocks).end + 15) / 16);
  made.width = apart % 16 == 0 ? 16 : 1;
  made.divisor = reduced.reduction == Reduction::avg ? static_cast<int>(made.parts) : 1;
  return made;
}

}  // namespace duet::nccl_shim::cuda
