#include "nccl_shim/protocol/buffer_copies.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace duet::nccl_shim {
namespace {

using What = WordOperation::What;

}  // namespace

BufferCopies::BufferCopies(const OwnRank& rank, const PairRoles& roles, Lanes& lanes,
                           LentMemory& lent, BorrowedMemory& borrowed)
    : OwnRank(rank),
      roles_(roles),
      lanes_(lanes),
      lent_(lent),
      borrowed_(borrowed),
      send_staging_(device_),
      receive_staging_(device_) {}

Buffers BufferCopies::publish(const Call& call, std::uint64_t number) {
  CallRecord& record = shared_.records[rank_][number % kCallsAhead];
  record.kind = static_cast<std::uint32_t>(call.kind);
  record.root = static_cast<std::uint32_t>(call.root);
  record.type = static_cast<std::uint32_t>(call.type);
  record.reduction = static_cast<std::uint32_t>(call.reduction);
  record.bytes = call.bytes;
  if (!roles_.in_pairs(call)) {  // its buffers are its rank's affair
    return {static_cast<const char*>(call.send), static_cast<char*>(call.receive)};
  }
  const std::size_t sent = send_bytes(call, rank_, ranks_);
  const std::size_t received = receive_bytes(call, ranks_);
  const char* receive = lend(call.receive, received, receive_staging_, record.receive);
  if (call.kind == Kind::all_reduce) {  // copies are of what has been reduced
    record.send = record.receive;
    return {receive, const_cast<char*>(receive), false, receive != call.receive};
  }
  const char* send = lend(call.send, sent, send_staging_, record.send);
  return {send, const_cast<char*>(receive), sent > 0 && send != call.send, receive != call.receive};
}

const char* BufferCopies::lend(const void* buffer, std::size_t bytes, StagingBuffer& staging,
                               BufferPlace& place) {
  place = {};
  if (bytes == 0) return static_cast<const char*>(buffer);
  try {
    place = lent_.place(buffer, bytes);
    return static_cast<const char*>(buffer);
  } catch (const Unavailable&) {
    const char* staged = staging.at_least(bytes);
    place = lent_.place(staged, bytes, LentMemory::Owner::drop_in);
    return staged;
  }
}

void BufferCopies::stage(const BegunCall& begun, Stream user) {
  if (!begun.mine.send_staged) return;
  device_.copy(user, const_cast<char*>(begun.mine.send), begun.call.send,
               send_bytes(begun.call, rank_, ranks_));
}

void BufferCopies::unstage(const BegunCall& begun, Stream user) {
  if (!begun.mine.receive_staged) return;
  device_.copy(user, begun.call.receive, begun.mine.receive, receive_bytes(begun.call, ranks_));
}

void BufferCopies::signal_ready(const BegunCall& begun, Stream user) {
  std::vector<WordOperation> signals;
  for (int peer = 0; peer < ranks_; ++peer) {
    const Role role = begun.roles[peer];
    if (role != Role::first && role != Role::sharing) continue;
    signals.push_back({What::set, &words(rank_, peer).ready, roles_.mine(peer).ready});
  }
  if (!signals.empty()) device_.words(user, signals);
}

void BufferCopies::copy(const BegunCall& begun, Stream user) {
  const Roles& roles = begun.roles;
  const auto copies = [](Role role) { return role == Role::second || role == Role::sharing; };
  if (std::none_of(roles.begin(), roles.end(), copies)) {
    copy_own_part(begun, user);
    return;
  }
  lanes_.follow(user);
  for (int step = 1; step < ranks_; ++step) {
    const int to = (rank_ + step) % ranks_, from = (rank_ + ranks_ - step) % ranks_;
    if (copies(roles[to])) push(begun, to);
    if (roles[from] == Role::second) pull(begun, from);
  }
  copy_own_part(begun, user);
  lanes_.join(user);
}

void BufferCopies::push(const BegunCall& begun, int to) {
  const Part sent = part(begun.call, rank_, to, ranks_);
  if (sent.bytes == 0) return;
  const CallRecord& record = shared_.records[to][begun.number % kCallsAhead];
  char* target = borrowed_.address(to, record.receive, process(to)) + sent.to;
  const Stream lane = lanes_.push();
  device_.words(lane, {{What::wait, &words(to, rank_).ready, roles_.theirs(to).ready}});
  device_.copy(lane, target, begun.mine.send + sent.from, sent.bytes);
  device_.words(lane, {{What::set, &words(rank_, to).pushed, roles_.mine(to).pushed}});
}

void BufferCopies::pull(const BegunCall& begun, int from) {
  const Part received = part(begun.call, from, rank_, ranks_);
  if (received.bytes == 0) return;
  const CallRecord& record = shared_.records[from][begun.number % kCallsAhead];
  const char* source = borrowed_.address(from, record.send, process(from)) + received.from;
  const Stream lane = lanes_.pull();
  device_.words(lane, {{What::wait, &words(from, rank_).ready, roles_.theirs(from).ready}});
  device_.copy(lane, begun.mine.receive + received.to, source, received.bytes);
  device_.words(lane, {{What::set, &words(rank_, from).pulled, roles_.mine(from).pulled}});
}

void BufferCopies::copy_own_part(const BegunCall& begun, Stream user) {
  const Part own = part(begun.call, rank_, rank_, ranks_);
  if (own.bytes == 0) return;
  const char* source = begun.mine.send + own.from;
  char* target = begun.mine.receive + own.to;
  // In place as the user sees it is in place only if neither buffer is staged.
  if (source != target) device_.copy(user, target, source, own.bytes);
}

void BufferCopies::wait_for_peers(const BegunCall& begun, Stream user) {
  std::vector<WordOperation> waits;
  for (int peer = 0; peer < ranks_; ++peer) {
    const Role role = begun.roles[peer];
    if (role != Role::first && role != Role::sharing) continue;
    if (roles_.copied(begun.call, peer, rank_).bytes > 0) {
      waits.push_back({What::wait, &words(peer, rank_).pushed, roles_.theirs(peer).pushed});
    }
    if (role == Role::first && roles_.copied(begun.call, rank_, peer).bytes > 0) {
      waits.push_back({What::wait, &words(peer, rank_).pulled, roles_.theirs(peer).pulled});
    }
  }
  waits.push_back({What::wait, &gate(rank_), kGateOpen});
  device_.words(user, waits);
}

}  // namespace duet::nccl_shim
