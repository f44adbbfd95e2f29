#pragma once

#include <cstddef>

#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"

namespace duet::nccl_shim {

// Calls that are one kernel on the user's stream: small ones as exchanges of packets, in which
// every rank sends every other the same number of bytes; larger ones as exchanges of chunks.
//
// Such calls need neither each other's buffers nor roles. Each rank has buffers for each peer.
// Of packets there are two, which calls use in turn: a rank that has got the peers' packets of a
// call knows that they have taken those of the call before it. device/gpu/chunk_exchange.h says why
// chunks do not meet. The device counts calls and chunks, so that a call may be captured into a
// graph: it has nothing that only this launch of it has. No gate is needed: an exchange that has
// ended has all that it waited for, unless this rank has aborted.
class ExchangeCalls : OwnRank {
 public:
  using Stream = ShimDevice::Stream;

  // Of each rank's memory.
  static std::size_t packet_bytes(int ranks, const Method& method);
  static std::size_t chunk_bytes(int ranks, const Method& method);

  ExchangeCalls(const OwnRank& rank, const Method& method, ReceiveMemory& memory)
      : OwnRank(rank), method_(method), memory_(memory) {}

  bool by_packets(const Call& call) const;
  bool by_chunks(const Call& call, bool captured) const;
  void enqueue_packets(const Call& call, Stream user);
  void enqueue_chunks(const Call& call, Stream user);

  // As Transfers'; the first takes up to 40 ms, in which the device answers.
  bool waits_for(int peer) const;
  void end_own_waits();

 private:
  ExchangeWords& own_words() const { return shared_.words.exchanges[rank_]; }
  // From the start of the receiver's buffers: that for `source`, where each is `bytes` long.
  std::size_t buffer(int source, int receiver, std::size_t bytes) const;
  void add_broadcast(ChunkExchange& exchanged, const Call& call) const;
  void add_parts(ChunkExchange& exchanged, const Call& call) const;
  void set_buffers(ChunkExchange& exchanged) const;

  const Method method_;
  ReceiveMemory& memory_;
};

}  // namespace duet::nccl_shim
