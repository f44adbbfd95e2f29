// Parts of nccl_ranks.cc with messages.
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "nccl_ranks.h"

namespace nccl_ranks {
namespace {

// One side of a message, which a kernel fills or checks.
struct Side {
  Side(const Rank& of, bool does_send, int with, int which, std::size_t length)
      : rank(of),
        sends(does_send),
        peer(with),
        number(which),
        bytes(length),
        data(static_cast<unsigned char*>(host_gpu_allocate(length))) {}
  ~Side() { host_gpu_free(data); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  unsigned char value() const {
    const int source = sends ? rank.rank : peer, destination = sends ? peer : rank.rank;
    return static_cast<unsigned char>(1 + number + 16 * source + 4 * destination);
  }
  void fill(void* stream) {
    host_gpu_launch(
        stream,
        [](void* side) {
          auto* self = static_cast<Side*>(side);
          std::memset(self->data, self->sends ? self->value() : 0, self->bytes);
        },
        this);
  }
  void enqueue(void* stream) {
    if (sends) {
      must(ncclSend(data, bytes, duet::nccl::kUint8, peer, rank.comm, stream), "ncclSend");
    } else {
      must(ncclRecv(data, bytes, duet::nccl::kUint8, peer, rank.comm, stream), "ncclRecv");
    }
  }
  void check(void* stream) {
    host_gpu_launch(
        stream,
        [](void* side) {
          const auto* self = static_cast<Side*>(side);
          for (std::size_t i = 0; i < self->bytes; ++i) {
            if (self->data[i] == self->value()) continue;
            expect(false, "data of message " + std::to_string(self->number));
            return;
          }
        },
        this);
  }

  const Rank& rank;
  const bool sends;
  const int peer, number;
  const std::size_t bytes;
  unsigned char* const data;
};

using Sides = std::vector<std::unique_ptr<Side>>;

// Sends before receives: the fake's wait on their stream.
Sides sides_of(const Rank& of, int number, std::size_t bytes, bool with_itself) {
  Sides sides;
  for (const bool sends : {true, false}) {
    for (int peer = 0; peer < of.ranks; ++peer) {
      if (peer == of.rank && !with_itself) continue;
      sides.push_back(std::make_unique<Side>(of, sends, peer, number, bytes));
    }
  }
  return sides;
}

// Large and small messages between all ranks in a group, with a call, on three streams, which wait
// for each other before and behind the group.
void exchange(const Rank& of, int number) {
  const Sides large = sides_of(of, number, kLarge, true), small = sides_of(of, 8, kSmall, false);
  Step step(of.rank, of.ranks, 1, kLarge);
  step.fill(of.streams[1]);
  for (const auto* sides : {&large, &small}) {
    for (const auto& each : *sides) each->fill(of.streams[2]);
  }
  must(ncclGroupStart(), "ncclGroupStart");
  for (const auto& each : large) each->enqueue(of.streams[each->sends ? 0 : 1]);
  for (const auto& each : small) each->enqueue(of.streams[2]);
  step.gather(of.comm, of.streams[0]);
  must(ncclGroupEnd(), "ncclGroupEnd");
  for (const auto* sides : {&large, &small}) {
    for (const auto& each : *sides) each->check(of.streams[2]);
  }
  step.check(of.streams[1]);
  of.synchronise();
}

// Around a ring, one after the other: even ranks send first.
void pass_around(const Rank& of, std::size_t bytes) {
  Side sent(of, true, (of.rank + 1) % of.ranks, 1, bytes);
  Side received(of, false, (of.rank + of.ranks - 1) % of.ranks, 1, bytes);
  for (Side* each : {&sent, &received}) each->fill(of.streams[0]);
  (of.rank % 2 == 0 ? sent : received).enqueue(of.streams[0]);
  (of.rank % 2 == 0 ? received : sent).enqueue(of.streams[0]);
  received.check(of.streams[0]);
  of.synchronise();
}

}  // namespace

void messages(const Rank& of) {
  for (int number = 0; number < 4; ++number) exchange(of, number);
  pass_around(of, kLarge);
  pass_around(of, kSmall);
  // A group that is simulated sends nothing.
  Side not_sent(of, true, (of.rank + 1) % of.ranks, 9, kLarge);
  must(ncclGroupStart(), "ncclGroupStart");
  not_sent.enqueue(of.streams[0]);
  must(ncclGroupSimulateEnd(nullptr), "ncclGroupSimulateEnd");
  exchange(of, 5);
}

// More messages of a pair than one may be ahead of the other, all of one rank's before the next's.
void messages_in_groups(const std::vector<Rank>& all) {
  constexpr int kMessages = 600;
  Sides sides;
  for (const Rank& each : all) {
    Sides of_rank = sides_of(each, 1, kLarge, true);
    for (auto& side : of_rank) {
      side->fill(each.streams[0]);
      sides.push_back(std::move(side));
    }
  }
  must(ncclGroupStart(), "ncclGroupStart");
  for (const auto& each : sides) {
    for (int i = 0; i < kMessages; ++i) each->enqueue(each->rank.streams[0]);
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  for (const auto& each : sides) each->check(each->rank.streams[0]);
  for (const Rank& each : all) each.synchronise();
}

// Messages that are captured are NCCL's, whatever their size; those between launches are not.
void messages_captured(const Rank& of) {
  void* const stream = of.streams[0];
  Side sent(of, true, 1 - of.rank, 1, kLarge), received(of, false, 1 - of.rank, 1, kLarge);
  host_gpu_begin_capture(stream);
  for (Side* each : {&sent, &received}) each->fill(stream);
  must(ncclGroupStart(), "ncclGroupStart");
  for (Side* each : {&sent, &received}) each->enqueue(stream);
  must(ncclGroupEnd(), "ncclGroupEnd");
  received.check(stream);
  void* const graph = host_gpu_end_capture(stream);
  for (int launch = 0; launch < 2; ++launch) {
    host_gpu_launch_graph(graph, stream);
    pass_around(of, kLarge);
  }
  host_gpu_destroy_graph(graph);
}

namespace {

// A message of `bytes` from each rank to each, in a group. Parts are `apart` bytes apart.
struct GroupedAllToAll {
  GroupedAllToAll(const Rank& own, std::size_t length, std::size_t distance)
      : of(own),
        bytes(length),
        apart(distance),
        send(static_cast<unsigned char*>(
            host_gpu_allocate(static_cast<std::size_t>(own.ranks) * distance))),
        receive(static_cast<unsigned char*>(
            host_gpu_allocate(static_cast<std::size_t>(own.ranks) * distance))) {}
  ~GroupedAllToAll() {
    host_gpu_free(send);
    host_gpu_free(receive);
  }
  GroupedAllToAll(const GroupedAllToAll&) = delete;
  GroupedAllToAll& operator=(const GroupedAllToAll&) = delete;

  static unsigned char value(int source, int destination) {
    return static_cast<unsigned char>(1 + 16 * source + destination);
  }
  std::size_t at(int peer) const { return static_cast<std::size_t>(peer) * apart; }

  // Fills, sends and receives, and checks.
  void enqueue(void* stream) {
    host_gpu_launch(
        stream,
        [](void* all) {
          auto* self = static_cast<GroupedAllToAll*>(all);
          for (int peer = 0; peer < self->of.ranks; ++peer) {
            std::memset(self->send + self->at(peer), value(self->of.rank, peer), self->bytes);
            std::memset(self->receive + self->at(peer), 0, self->bytes);
          }
        },
        this);
    must(ncclGroupStart(), "ncclGroupStart");
    for (int peer = 0; peer < of.ranks; ++peer) {
      must(ncclSend(send + at(peer), bytes, duet::nccl::kUint8, peer, of.comm, stream), "ncclSend");
      must(ncclRecv(receive + at(peer), bytes, duet::nccl::kUint8, peer, of.comm, stream),
           "ncclRecv");
    }
    must(ncclGroupEnd(), "ncclGroupEnd");
    host_gpu_launch(
        stream,
        [](void* all) {
          const auto* self = static_cast<GroupedAllToAll*>(all);
          for (int peer = 0; peer < self->of.ranks; ++peer) {
            const unsigned char* const part = self->receive + self->at(peer);
            const unsigned char from_peer = value(peer, self->of.rank);
            expect(part[0] == from_peer && part[self->bytes - 1] == from_peer,
                   "a part of an all_to_all");
          }
        },
        this);
  }

  const Rank& of;
  const std::size_t bytes, apart;
  unsigned char *const send, *const receive;
};

}  // namespace

// Groups that are an all_to_all, a small one and a large one, also captured; one whose parts are
// not beside each other, and one without messages of ranks to themselves.
void grouped_all_to_all(const Rank& of) {
  void* const stream = of.streams[0];
  GroupedAllToAll small(of, kSmall, kSmall), large(of, kLarge, kLarge),
      with_gaps(of, kSmall, 2 * kSmall);
  for (GroupedAllToAll* each : {&small, &large, &with_gaps}) each->enqueue(stream);
  of.synchronise();
  host_gpu_begin_capture(stream);
  for (GroupedAllToAll* each : {&small, &large}) each->enqueue(stream);
  void* const graph = host_gpu_end_capture(stream);
  for (int launch = 0; launch < 2; ++launch) host_gpu_launch_graph(graph, stream);
  of.synchronise();
  host_gpu_destroy_graph(graph);
  const Sides others = sides_of(of, 1, kSmall, false);
  for (const auto& each : others) each->fill(stream);
  must(ncclGroupStart(), "ncclGroupStart");
  for (const auto& each : others) each->enqueue(stream);
  must(ncclGroupEnd(), "ncclGroupEnd");
  for (const auto& each : others) each->check(stream);
  of.synchronise();
}

// Rank 0 sends and receives in a group, whose small messages, more than the fake holds, NCCL
// enqueues behind its end; rank 1 receives the large one behind all the small ones.
void messages_nonblocking(const Rank& of) {
  constexpr int kSmallOnes = 6;
  const bool first = of.rank == 0;
  Side large(of, first, 1 - of.rank, 1, kLarge);
  Sides small;
  for (int i = 0; i < kSmallOnes; ++i) {
    small.push_back(std::make_unique<Side>(of, !first, 1 - of.rank, 2, kSmall));
    small.back()->fill(of.streams[0]);
  }
  large.fill(of.streams[0]);
  if (first) must(ncclGroupStart(), "ncclGroupStart");
  for (const auto& each : small) each->enqueue(of.streams[0]);
  large.enqueue(of.streams[0]);
  if (first) {
    expect(ncclGroupEnd() == duet::nccl::kInProgress, "a group in progress");
    wait_until_done(of.comm);
  }
  large.check(of.streams[0]);
  for (const auto& each : small) each->check(of.streams[0]);
  of.synchronise();
}

// A rank dies that others wait for: they learn it, and their abort returns.
void killed_in_message(const Rank& of) {
  exchange(of, 1);
  if (of.rank == of.ranks - 1) {
    usleep(20000);
    raise(SIGKILL);
  }
  Side received(of, false, of.ranks - 1, 2, kLarge);
  received.enqueue(of.streams[0]);
  for (int i = 0; i < 3000 && state_of(of.comm) == 0; ++i) usleep(10000);
  expect(state_of(of.comm) == duet::nccl::kRemoteError, "the death of a rank");
  must(ncclCommAbort(of.comm), "ncclCommAbort");
  of.synchronise();
}

}  // namespace nccl_ranks
