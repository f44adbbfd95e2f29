// Planning on an engine's session, with the user's memory as spans.
#include "communicator/local_rank.h"

#include <fmt/format.h>

#include "collectives/engine.h"
#include "collectives/planning.h"

namespace duet {

LocalRank::LocalRank(Rank& rank, CollectiveSession& session, NativeStreams& streams)
    : rank_(rank), session_(session), streams_(streams) {}

int LocalRank::index() const { return rank_.index; }
int LocalRank::size() const { return rank_.size; }
int LocalRank::local() const { return rank_.local; }
Device& LocalRank::device() const { return rank_.device; }

std::unique_ptr<CollectiveMemory> LocalRank::allocate(std::uint64_t bytes) {
  return session_.allocate(rank_, bytes);
}

CollectiveCall LocalRank::plan(const Collective& collective, const Span& send, const Span& recv) {
  check(collective, rank_.size);
  const CollectiveBuffers buffers{send, recv};
  const bool overlap = in_place(buffers);
  if (overlap && !has_in_place(collective.kind)) {
    throw BadArgument(
        fmt::format("{}: expected buffers that do not overlap", duet::name(collective.kind)));
  }
  if (const auto skipped = session_.unsupported(collective, overlap)) {
    throw Unavailable(fmt::format("{}: {}", duet::name(collective.kind), skipped->reason));
  }
  return {session_.plan(rank_, collective, buffers), streams_};
}

Span LocalRank::adopt(void* data, std::uint64_t bytes) const {
  return bytes == 0 ? Span{} : rank_.device.adopt(data, bytes);
}

CollectiveCall LocalRank::plan(const Collective& collective, const void* send, void* recv) {
  check(collective, rank_.size);
  return plan(collective,
              adopt(const_cast<void*>(send), send_bytes(collective, rank_.index, rank_.size)),
              adopt(recv, recv_bytes(collective, rank_.index, rank_.size)));
}

// The second meeting: a peer's memory is freed only when nobody has it mapped any more.
void LocalRank::retire(CollectiveCall call) {
  barrier("the other ranks to be done with a call");
  call = {};
  barrier("the other ranks to have ended a call");
}

void LocalRank::barrier(const std::string& what, double deadline_seconds) {
  rank_.team.barrier(what, deadline_seconds);
}

}  // namespace duet
