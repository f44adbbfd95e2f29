// Parts of nccl_ranks.cc with groups.
#include <cstring>
#include <string>

#include "nccl_ranks.h"

namespace nccl_ranks {

void group(const Rank& of) {
  Step large(of.rank, of.ranks, 1, kLarge), small(of.rank, of.ranks, 2, kSmall),
      other(of.rank, of.ranks, 3, kLarge);
  Step* steps[] = {&large, &small, &other};
  // The fills are all on the first stream, the checks on the last: a group's streams wait for each
  // other before and behind it.
  for (Step* each : {&large, &other}) each->fill(of.streams[0]);
  small.fill(of.streams[1]);
  must(ncclGroupStart(), "ncclGroupStart");
  must(ncclGroupStart(), "ncclGroupStart");
  for (int i = 0; i < 3; ++i) steps[i]->gather(of.comm, of.streams[static_cast<std::size_t>(i)]);
  must(ncclGroupEnd(), "ncclGroupEnd");
  must(ncclGroupEnd(), "ncclGroupEnd");
  for (Step* each : {&large, &other}) each->check(of.streams[2]);
  small.check(of.streams[1]);
  of.synchronise();
}

// Calls of two communicators on one stream: rank 0 makes them in a group, the others do not.
void group_of_two(const Rank& of) {
  Rank other = of;
  must(ncclCommSplit(of.comm, 0, of.rank, &other.comm, nullptr), "ncclCommSplit");
  for (int round = 0; round < 3; ++round) {
    Step large(of.rank, of.ranks, 1, kLarge), small(of.rank, of.ranks, 2, kSmall);
    for (Step* each : {&large, &small}) each->fill(of.streams[0]);
    if (of.rank == 0) must(ncclGroupStart(), "ncclGroupStart");
    large.gather(of.comm, of.streams[0]);
    small.gather(other.comm, of.streams[0]);
    if (of.rank == 0) must(ncclGroupEnd(), "ncclGroupEnd");
    for (Step* each : {&large, &small}) each->check(of.streams[0]);
    of.synchronise();
  }
  must(ncclCommDestroy(other.comm), "ncclCommDestroy");
}

// Calls of a group that is simulated are not made, and what comes behind an inner one is still of
// the outer group.
void simulated(const Rank& of) {
  Step not_made(of.rank, of.ranks, 1, kLarge), made(of.rank, of.ranks, 2, kLarge);
  must(ncclGroupStart(), "ncclGroupStart");
  not_made.gather(of.comm, of.streams[0]);
  must(ncclGroupSimulateEnd(nullptr), "ncclGroupSimulateEnd");
  must(ncclGroupStart(), "ncclGroupStart");
  must(ncclGroupStart(), "ncclGroupStart");
  must(ncclGroupSimulateEnd(nullptr), "ncclGroupSimulateEnd");
  made.gather(of.comm, of.streams[0]);
  made.fill(of.streams[0]);  // before the call, which is enqueued when the group ends
  must(ncclGroupEnd(), "ncclGroupEnd");
  made.check(of.streams[0]);
  of.synchronise();
  expect(not_made.receive[0] == 0, "no data of a group that is simulated");
}

namespace {

void calls_and_end(const Rank& of) {
  calls(of, 1, 4);
  must(ncclCommDestroy(of.comm), "ncclCommDestroy");
}

// Two communicators, by `create`: rank 0 creates them in one group, the others too if `alike`, or
// else one after the other.
template <typename Create>
void create_two(const Rank& of, bool alike, const Create& create) {
  Rank one{of.rank, of.ranks, nullptr, of.streams}, two = one;
  const bool in_group = alike || of.rank == 0;
  if (in_group) must(ncclGroupStart(), "ncclGroupStart");
  create(&one.comm, 0);
  create(&two.comm, 1);
  if (in_group) must(ncclGroupEnd(), "ncclGroupEnd");
  calls_and_end(one);
  calls_and_end(two);
}

}  // namespace

void together(const Rank& of, ncclUniqueId id, bool alike) {
  std::strcat(id.bytes, "-0");
  create_two(of, alike, [&](ncclComm_t* comm, int number) {
    id.bytes[std::strlen(id.bytes) - 1] = number == 0 ? '0' : '1';
    must(ncclCommInitRank(comm, of.ranks, id, of.rank), "ncclCommInitRank");
  });
}

// Parts of two communicators.
void split_together(const Rank& of) {
  ncclComm_t parents[] = {of.comm, nullptr};
  must(ncclCommSplit(of.comm, 0, of.rank, &parents[1], nullptr), "ncclCommSplit");
  create_two(of, false, [&](ncclComm_t* comm, int number) {
    must(ncclCommSplit(parents[number], 0, of.rank, comm, nullptr), "ncclCommSplit");
  });
  must(ncclCommDestroy(parents[1]), "ncclCommDestroy");
}

namespace {

// A call that is taken over, and what NCCL refuses behind it in the same group: as with NCCL alone,
// nothing of the group is made.
template <typename Refused>
void gather_and_refused(const Rank& of, ncclResult_t error, const Refused& refused) {
  Step step(of.rank, of.ranks, 1, kLarge), made(of.rank, of.ranks, 2, kLarge);
  step.fill(of.streams[0]);
  must(ncclGroupStart(), "ncclGroupStart");
  step.gather(of.comm, of.streams[0]);
  expect(refused(step) == error, "an error of a call");
  expect(ncclGroupEnd() == error, "an error of a group");
  made.fill(of.streams[0]);
  made.gather(of.comm, of.streams[0]);
  made.check(of.streams[0]);
  of.synchronise();
  for (int from = 0; from < of.ranks; ++from) {
    expect(step.receive[static_cast<std::size_t>(from) * kLarge] == 0, "no data of a failed group");
  }
}

}  // namespace

void refused_in_group(const Rank& of) {
  gather_and_refused(of, duet::nccl::kInvalidArgument, [&](const Step& step) {
    return ncclAllGather(step.send, step.receive, kSmall, duet::nccl::kInt32, of.comm,
                         of.streams[0]);
  });
}

void window_refused_in_group(const Rank& of) {
  gather_and_refused(of, duet::nccl::kInvalidUsage, [&](const Step& step) {
    duet::nccl::Window window = nullptr;
    return ncclCommWindowRegister(of.comm, step.receive, kLarge, &window, 0);
  });
}

}  // namespace nccl_ranks
