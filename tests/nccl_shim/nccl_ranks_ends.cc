// Parts of nccl_ranks.cc in which ranks end, or their devices.
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "nccl_ranks.h"
#include "nccl_shim/protocol/process_resources_fixture.h"

namespace nccl_ranks {

using duet::nccl_shim::testing::open_files;

namespace {

void communicate(const Rank& like, const ncclUniqueId& id) {
  Rank of{like.rank, like.ranks, nullptr, {host_gpu_create_stream()}};
  must(ncclCommInitRank(&of.comm, of.ranks, id, of.rank), "ncclCommInitRank");
  calls(of, 1, 2);
  must(ncclCommDestroy(of.comm), "ncclCommDestroy");
  host_gpu_destroy_stream(of.streams[0]);
}

}  // namespace

// A child has no communicator, and is not held up by one either. What it creates is forwarded, also
// by ranks that are not forked.
void forked(const Rank& of, ncclUniqueId id) {
  calls(of, 1, 2);
  std::strcat(id.bytes, "-forked");
  const pid_t child = fork();
  if (child == 0) {
    if (of.rank == 0) communicate(of, id);
    _exit(failures);
  }
  if (of.rank != 0) communicate(of, id);
  int status = 1;
  waitpid(child, &status, 0);
  expect(status == 0, "a child ends");
  calls(of, 1, 2);
}

// One communicator after the other, which rank 0 aborts before the others do: what it keeps for
// them does not grow, but by that of one communicator, which is a file for each rank.
void restarted(const Rank& of, ncclUniqueId id) {
  std::size_t most = 0;
  for (int number = 0; number < 8; ++number) {
    Rank again{of.rank, of.ranks, nullptr, of.streams};
    std::strcat(id.bytes, "-");
    must(ncclCommInitRank(&again.comm, of.ranks, id, of.rank), "ncclCommInitRank");
    calls(again, 1, 2);
    if (of.rank != 0) usleep(30000);
    must(ncclCommAbort(again.comm), "ncclCommAbort");
    if (number == 1) most = open_files() + static_cast<std::size_t>(of.ranks);
  }
  expect(open_files() <= most,
         "at most " + std::to_string(most) + " open files: " + std::to_string(open_files()));
}

namespace {

bool last_error_has(const Rank& of, const char* text) {
  return std::strstr(ncclGetLastError(of.comm), text) != nullptr;
}

void wait_for_remote_error(const Rank& of) {
  ncclResult_t error = 0;
  for (int i = 0; error == 0 && i < 3000; ++i) {
    usleep(10000);
    must(ncclCommGetAsyncError(of.comm, &error), "ncclCommGetAsyncError");
  }
  expect(error == duet::nccl::kRemoteError, "an error of the communicator");
  expect(last_error_has(of, "rank"), "the text of that error");
}

void expect_remote_error(const Rank& of) {
  wait_for_remote_error(of);
  must(ncclCommAbort(of.comm), "ncclCommAbort");
  host_gpu_synchronise(of.streams[0]);
}

}  // namespace

// Ranks make different calls, and then ones that NCCL itself refuses: the text is the last error's.
void last_error(const Rank& of) {
  expect(*ncclGetLastError(of.comm) == '\0', "no error so far");
  Step step(of.rank, of.ranks, 1, of.rank == 0 ? kLarge : 2 * kLarge);
  const auto gather = [&](std::size_t bytes, int type) {
    return ncclAllGather(step.send, step.receive, bytes, type, of.comm, of.streams[0]);
  };
  if (gather(step.bytes, duet::nccl::kUint8) != 0) {
    expect(last_error_has(of, "make different calls"), "the text of a call's error");
  }
  wait_for_remote_error(of);
  expect(gather(kSmall, duet::nccl::kInt32) != 0, "a call that NCCL refuses");
  expect(last_error_has(of, "an argument of ncclAllGather"), "the text of NCCL's error");
  ncclResult_t error = 0;
  must(ncclCommGetAsyncError(of.comm, &error), "ncclCommGetAsyncError");
  expect(last_error_has(of, "an argument of ncclAllGather"), "an older error does not come again");
  expect(gather(step.bytes, duet::nccl::kUint8) != 0, "a call of a broken communicator");
  expect(last_error_has(of, "rank"), "the text of a later error");
  must(ncclCommAbort(of.comm), "ncclCommAbort");
}

void killed(const Rank& of) {
  calls(of, 1, 2);
  if (of.rank == 1) raise(SIGKILL);
  Step step(of.rank, of.ranks, 1, kLarge);
  step.gather(of.comm, of.streams[0]);
  expect_remote_error(of);
}

// A call of NCCL itself waits for the dead rank, and one that is taken over is behind it.
void killed_behind(const Rank& of) {
  calls(of, 1, 2);
  if (of.rank == 1) raise(SIGKILL);
  Step small(of.rank, of.ranks, 1, kSmall), large(of.rank, of.ranks, 2, kLarge);
  small.gather(of.comm, of.streams[0]);
  large.gather(of.comm, of.streams[0]);
  expect_remote_error(of);
}

// The ranks that are left go on without the one that has died.
void killed_and_shrunk(const Rank& of) {
  calls(of, 1, 2);
  const int last = of.ranks - 1;
  if (of.rank == last) raise(SIGKILL);
  Step step(of.rank, of.ranks, 1, kLarge);
  const ncclResult_t made =
      ncclAllGather(step.send, step.receive, kLarge, duet::nccl::kUint8, of.comm, of.streams[0]);
  if (made != duet::nccl::kRemoteError) must(made, "ncclAllGather");  // the death is known already
  wait_for_remote_error(of);
  expect(ncclCommFinalize(of.comm) == duet::nccl::kRemoteError, "an error of ncclCommFinalize");
  shrink(of, last, duet::nccl::kShrinkAbort);
  host_gpu_synchronise(of.streams[0]);
  must(ncclCommDestroy(of.comm), "ncclCommDestroy");
}

// Rank 1 is gone when the others launch a graph once more.
void killed_in_launch(const Rank& of) {
  Step step(of.rank, of.ranks, 1, kLarge);
  host_gpu_begin_capture(of.streams[0]);
  for (int i = 0; i < 3; ++i) step.gather(of.comm, of.streams[0]);
  void* const graph = host_gpu_end_capture(of.streams[0]);
  for (int launch = 0; launch < 2; ++launch) host_gpu_launch_graph(graph, of.streams[0]);
  of.synchronise();
  if (of.rank == 1) raise(SIGKILL);
  host_gpu_launch_graph(graph, of.streams[0]);
  expect_remote_error(of);
  host_gpu_destroy_graph(graph);
}

// Rank 1 makes no call at all.
void killed_at_once(const Rank& of) {
  if (of.rank == 1) raise(SIGKILL);
  usleep(100000);
  std::vector<int> send(1u << 20), receive(send.size() / static_cast<std::size_t>(of.ranks));
  must(ncclReduceScatter(send.data(), receive.data(), receive.size(), duet::nccl::kInt32,
                         duet::nccl::kSum, of.comm, of.streams[0]),
       "ncclReduceScatter");
  expect_remote_error(of);
}

// Only rank 0 makes a call, and copies its result to pageable memory on another thread.
void aborted_behind_copy(const Rank& of, std::size_t bytes) {
  calls(of, 1, 2);
  if (of.rank != 0) return;
  Step step(of.rank, of.ranks, 1, bytes);
  step.gather(of.comm, of.streams[0]);
  std::thread copy([&] { host_gpu_copy_out(of.streams[0]); });
  usleep(100000);
  must(ncclCommAbort(of.comm), "ncclCommAbort");
  copy.join();
}

namespace {

// An error of one rank holds up what another rank's streams have not finished.
void wait_for_ranks(const Rank& of) {
  ncclComm_t none = nullptr;
  must(ncclCommSplit(of.comm, duet::nccl::kNoColor, of.rank, &none, nullptr), "ncclCommSplit");
}

}  // namespace

// Behind a fault of the GPU, calls are errors and communicators can be ended.
void failed_device(const Rank& of) {
  calls(of, 1, 3);  // the last one is taken over
  wait_for_ranks(of);
  host_gpu_fail();
  Step large(of.rank, of.ranks, 1, kLarge), small(of.rank, of.ranks, 2, kSmall);
  const auto gather = [&of](Step& step, void* stream) {
    return ncclAllGather(step.send, step.receive, step.bytes, duet::nccl::kUint8, of.comm, stream);
  };
  expect(gather(small, of.streams[1]) != 0, "an error of a call that is forwarded");
  expect(gather(large, of.streams[0]) != 0, "an error of a call that is taken over");
  must(ncclGroupStart(), "ncclGroupStart");
  must(gather(large, of.streams[0]), "ncclAllGather");
  expect(ncclGroupEnd() != 0, "an error of a group");
  must(of.rank == 0 ? ncclCommAbort(of.comm) : ncclCommDestroy(of.comm), "ncclComm...");
}

}  // namespace nccl_ranks
