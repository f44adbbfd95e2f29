// Parts of nccl_ranks.cc with nonblocking communicators.
#include <fcntl.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "nccl_ranks.h"

namespace nccl_ranks {

ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t state = 0;
  must(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  return state;
}

void wait_until_done(ncclComm_t comm) {
  for (int i = 0; state_of(comm) == duet::nccl::kInProgress; ++i) {
    usleep(1000);
    if (i == 20000) must(duet::nccl::kInProgress, "20 s of a nonblocking communicator");
  }
  must(state_of(comm), "ncclCommGetAsyncError's state");
}

// In nonblocking_late rank 1 asks when rank 0 knows that the creation is done: it must not take
// part by asking alone.
void create_nonblocking(Rank& of, const ncclUniqueId& id, duet::nccl::Config* config,
                        const std::string& part) {
  const bool in_group = part == "nonblocking_group";
  if (in_group) must(ncclGroupStart(), "ncclGroupStart");
  const auto begun = ncclCommInitRankConfig(&of.comm, of.ranks, id, of.rank, config);
  expect(begun == duet::nccl::kInProgress, "a creation in progress");
  if (in_group) expect(ncclGroupEnd() == duet::nccl::kInProgress, "a creation in progress");
  const std::string done = std::string("/dev/shm") + id.bytes + "-done";
  const bool late = part == "nonblocking_late";
  for (int i = 0; late && of.rank == 1 && i < 20000 && unlink(done.c_str()) != 0; ++i) usleep(1000);
  wait_until_done(of.comm);
  if (late && of.rank == 0) close(open(done.c_str(), O_CREAT | O_WRONLY, 0600));
}

namespace {

// Rank 1 has called, and its process is stopped: the real NCCL has created the communicator, and
// nobody may use it yet.
void wait_for_stopped(const Rank& of) {
  ncclResult_t state = duet::nccl::kInProgress;
  for (int i = 0; i < 100; ++i) {
    if (i > 0) usleep(1000);
    if (state == duet::nccl::kInProgress) state = state_of(of.comm);
  }
  expect(state == duet::nccl::kInProgress, "a creation in progress");
  Step step(of.rank, of.ranks, 1, kLarge);
  expect(ncclAllGather(step.send, step.receive, kLarge, duet::nccl::kUint8, of.comm,
                       of.streams[0]) == duet::nccl::kInvalidArgument,
         "no call before the creation is done");
}

}  // namespace

void create_with_stopped(Rank& of, const ncclUniqueId& id, duet::nccl::Config* config) {
  const std::string name = std::string("/dev/shm") + id.bytes + "-stopped";
  const auto begin = [&] {
    expect(
        ncclCommInitRankConfig(&of.comm, of.ranks, id, of.rank, config) == duet::nccl::kInProgress,
        "a creation in progress");
  };
  if (of.rank == 1) {
    begin();
    std::ofstream(name + "-new") << getpid();
    std::rename((name + "-new").c_str(), name.c_str());
    raise(SIGSTOP);
  } else {
    pid_t stopped = 0;
    for (int i = 0; i < 20000 && !(std::ifstream(name) >> stopped); ++i) usleep(1000);
    unlink(name.c_str());
    usleep(50000);
    begin();
    wait_for_stopped(of);
    kill(stopped, SIGCONT);
  }
  wait_until_done(of.comm);
}

// Rank 1 does not come.
int abort_creation(Rank& of, const ncclUniqueId& id, duet::nccl::Config* config) {
  if (of.rank == 1) return failures;
  expect(ncclCommInitRankConfig(&of.comm, of.ranks, id, of.rank, config) == duet::nccl::kInProgress,
         "a creation in progress");
  usleep(50000);
  expect(state_of(of.comm) == duet::nccl::kInProgress, "a creation in progress");
  must(ncclCommAbort(of.comm), "ncclCommAbort");
  return failures;
}

// Rank 1 makes its call when rank 0 has finalized.
void finalize_nonblocking(const Rank& of) {
  Step step(of.rank, of.ranks, 1, kLarge);
  if (of.rank == 1) usleep(200000);
  step.fill(of.streams[0]);
  step.gather(of.comm, of.streams[0]);
  const ncclResult_t finalized = ncclCommFinalize(of.comm);
  expect(finalized == 0 || finalized == duet::nccl::kInProgress, "a communicator is finalized");
  if (of.rank == 0) expect(state_of(of.comm) == duet::nccl::kInProgress, "a call in progress");
  wait_until_done(of.comm);
  for (int from = 0; from < of.ranks; ++from) {
    expect(step.receive[static_cast<std::size_t>(from) * kLarge] == step.value(from), "data");
  }
  of.synchronise();
}

}  // namespace nccl_ranks
