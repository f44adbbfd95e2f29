// A program of a user of NCCL, with all-gathers of two sizes on RANKS processes:
//   nccl_ranks RANKS PART
// PART: one_thread, one_thread_split, rank_by_rank, init_all (all ranks in this process), calls,
// reduce_scatter, all_reduce, streams, group, group_of_two, simulated, revoked, split,
// nonblocking_split, shrink, finalize, nonblocking, nonblocking_group, nonblocking_late,
// nonblocking_stopped, nonblocking_aborted, nonblocking_finalize, captured, captured_small, forked,
// killed, killed_in_launch, killed_at_once, killed_behind, killed_and_shrunk, failed_device (with
// the stand-in for libcuda), mixed (rank 0 without LD_PRELOAD). Each process prints how many
// all-gathers came to the real NCCL; exit code 0 if all data were right.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "host_gpu.h"
#include "nccl_calls.h"

namespace {

constexpr std::size_t kSmall = 64, kLarge = 8192;
int failures = 0;

void expect(bool met, const std::string& what) {
  if (met) return;
  std::fprintf(stderr, "not met: %s\n", what.c_str());
  ++failures;
}

void must(ncclResult_t result, const char* call) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: %d\n", call, result);
  _exit(3);
}

// One all-gather whose send buffer a kernel fills and whose result a kernel checks.
struct Step {
  int rank, ranks, number;
  std::size_t bytes;
  unsigned char *send, *receive;

  Step(int own, int all, int of, std::size_t part)
      : rank(own),
        ranks(all),
        number(of),
        bytes(part),
        send(static_cast<unsigned char*>(host_gpu_allocate(part))),
        receive(
            static_cast<unsigned char*>(host_gpu_allocate(part * static_cast<std::size_t>(all)))) {}
  ~Step() {
    host_gpu_free(send);
    host_gpu_free(receive);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  unsigned char value(int of) const { return static_cast<unsigned char>(16 * number + of + 1); }
  void fill(void* stream) {
    host_gpu_launch(
        stream,
        [](void* step) {
          auto* self = static_cast<Step*>(step);
          std::memset(self->send, self->value(self->rank), self->bytes);
        },
        this);
  }
  void gather(ncclComm_t comm, void* stream) {
    must(ncclAllGather(send, receive, bytes, duet::nccl::kUint8, comm, stream), "ncclAllGather");
  }
  void check(void* stream) {
    host_gpu_launch(
        stream,
        [](void* step) {
          const auto* self = static_cast<Step*>(step);
          for (std::size_t i = 0; i < self->bytes * static_cast<std::size_t>(self->ranks); ++i) {
            if (self->receive[i] == self->value(static_cast<int>(i / self->bytes))) continue;
            expect(false, "data of step " + std::to_string(self->number));
            return;
          }
        },
        this);
  }
};

struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  std::vector<void*> streams;

  void synchronise() const {
    for (void* each : streams) host_gpu_synchronise(each);
  }
};

// Small and large calls in turn, on the first `streams` streams in turn.
void calls(const Rank& of, std::size_t streams, int count = 12) {
  std::vector<Step*> steps;
  for (int number = 0; number < count; ++number) {
    void* stream = of.streams[static_cast<std::size_t>(number) % streams];
    auto* step = new Step(of.rank, of.ranks, number, number % 2 == 0 ? kLarge : kSmall);
    step->fill(stream);
    step->gather(of.comm, stream);
    step->check(stream);
    steps.push_back(step);
  }
  of.synchronise();
  for (Step* each : steps) delete each;
}

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

void split(const Rank& of, duet::nccl::Config* config = nullptr) {
  Rank part{of.rank / 2, of.ranks / 2, nullptr, of.streams};
  host_gpu_set_device(0);  // a part is on its parent's device, whatever the current one is
  must(ncclCommSplit(of.comm, of.rank % 2, of.rank, &part.comm, config), "ncclCommSplit");
  host_gpu_set_device(of.rank);
  calls(part, 1);
  must(ncclCommDestroy(part.comm), "ncclCommDestroy");
}

void shrink(const Rank& of, int excluded, int flags) {
  const int rank = of.rank > excluded ? of.rank - 1 : of.rank;
  Rank part{rank, of.ranks - 1, nullptr, of.streams};
  must(ncclCommShrink(of.comm, &excluded, 1, &part.comm, nullptr, flags), "ncclCommShrink");
  calls(part, 1, 4);
  must(ncclCommDestroy(part.comm), "ncclCommDestroy");
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

ncclResult_t state_of(ncclComm_t comm);

// All calls are done: a rank that revokes is no error of another, nor of its own.
void revoked(const Rank& of) {
  calls(of, 1, 2);
  must(ncclCommRevoke(of.comm, 0), "ncclCommRevoke");
  must(state_of(of.comm), "ncclCommGetAsyncError's state");
  split(of);
}

// Three ranks, of which each but the first is left out once, and rank 2 once more.
void shrink_in_turn(const Rank& of) {
  for (const int excluded : {2, 1, 2}) {
    if (of.rank != excluded) shrink(of, excluded, 0);
  }
  const int large_and_small = of.rank == 0 ? 12 : of.rank == 1 ? 8 : 4;
  expect(fake_nccl_all_gathers() == large_and_small / 2, "half of the calls by NCCL");
}

// What was enqueued is done when it returns.
void finalize(const Rank& of) {
  Step step(of.rank, of.ranks, 1, kLarge);
  step.fill(of.streams[0]);
  step.gather(of.comm, of.streams[0]);
  must(ncclCommFinalize(of.comm), "ncclCommFinalize");
  for (int from = 0; from < of.ranks; ++from) {
    expect(step.receive[static_cast<std::size_t>(from) * kLarge] == step.value(from), "data");
  }
  of.synchronise();
}

// More than fits into a slot, and not in whole pieces.
void reduce_scatter(const Rank& of) {
  constexpr std::size_t kCount = (9u << 20) / sizeof(int) + 5;
  const auto ranks = static_cast<std::size_t>(of.ranks);
  std::vector<int> send(kCount * ranks), receive(kCount);
  for (std::size_t i = 0; i < send.size(); ++i) send[i] = static_cast<int>(i) * (of.rank + 1);
  must(ncclReduceScatter(send.data(), receive.data(), kCount, duet::nccl::kInt32, duet::nccl::kMax,
                         of.comm, of.streams[0]),
       "ncclReduceScatter");
  of.synchronise();
  const std::size_t own = kCount * static_cast<std::size_t>(of.rank);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    wrong += receive[i] != static_cast<int>(own + i) * of.ranks;
  }
  expect(wrong == 0, "data of a reduce_scatter");
}

// Two calls in a group: of bf16 into another buffer, of ints in place. Both are several
// pieces.
void all_reduce(const Rank& of) {
  constexpr std::size_t kCount = (18u << 20) / sizeof(int) + 5;
  const std::uint16_t halves[] = {0x3f80, 0x4000, 0x4040, 0x4080};  // 1, 2, 3, 4 as bf16
  const std::uint16_t sums[] = {0, 0, 0x4040, 0x40c0, 0x4120};      // of 2, 3, 4 ranks
  const std::vector<std::uint16_t> send(kCount, halves[of.rank]);
  auto* const receive = static_cast<std::uint16_t*>(host_gpu_allocate(2 * kCount));
  auto* const whole = static_cast<int*>(host_gpu_allocate(sizeof(int) * kCount));
  for (std::size_t i = 0; i < kCount; ++i) whole[i] = static_cast<int>(i) - of.rank;
  must(ncclGroupStart(), "ncclGroupStart");
  must(ncclAllReduce(send.data(), receive, kCount, duet::nccl::kBfloat16, duet::nccl::kSum, of.comm,
                     of.streams[0]),
       "ncclAllReduce");
  must(ncclAllReduce(whole, whole, kCount, duet::nccl::kInt32, duet::nccl::kMin, of.comm,
                     of.streams[1]),
       "ncclAllReduce");
  must(ncclGroupEnd(), "ncclGroupEnd");
  of.synchronise();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    wrong += receive[i] != sums[of.ranks] || whole[i] != static_cast<int>(i) - of.ranks + 1;
  }
  expect(wrong == 0, "data of two all_reduces");
  host_gpu_free(receive);
  host_gpu_free(whole);
}

// Calls that are captured, of `nodes` nodes with kernels that fill and check, and some on a stream
// of its own if they are `taken`. Calls between launches are taken over, and the stream may go
// before the next of them.
void captured(const Rank& of, std::size_t nodes, bool taken) {
  calls(of, 1, 2);
  Step alone(of.rank, of.ranks, 1, kLarge), one(of.rank, of.ranks, 2, kLarge),
      other(of.rank, of.ranks, 3, kLarge);
  void* const stream = host_gpu_create_stream();
  void* const beside = taken ? of.streams[1] : stream;
  host_gpu_begin_capture(stream);
  host_gpu_fork(stream, beside);
  alone.fill(stream);
  for (Step* each : {&one, &other}) each->fill(beside);
  alone.gather(of.comm, stream);
  must(ncclGroupStart(), "ncclGroupStart");
  one.gather(of.comm, beside);
  other.gather(of.comm, stream);
  must(ncclGroupEnd(), "ncclGroupEnd");
  for (Step* each : {&alone, &one}) each->check(stream);
  other.check(beside);
  host_gpu_fork(beside, stream);
  void* const graph = host_gpu_end_capture(stream);
  expect(host_gpu_graph_size(graph) == nodes, "a graph of as many nodes");
  host_gpu_destroy_stream(stream);
  for (int launch = 0; launch < 3; ++launch) {
    for (Step* each : {&alone, &one, &other}) {
      std::memset(each->receive, 0, kLarge * static_cast<std::size_t>(of.ranks));
    }
    host_gpu_launch_graph(graph, of.streams[0]);
    of.synchronise();
    calls(of, 3, 2);
  }
  host_gpu_destroy_graph(graph);
}

void communicate(const Rank& like, const ncclUniqueId& id) {
  Rank of{like.rank, like.ranks, nullptr, {host_gpu_create_stream()}};
  must(ncclCommInitRank(&of.comm, of.ranks, id, of.rank), "ncclCommInitRank");
  calls(of, 1, 2);
  must(ncclCommDestroy(of.comm), "ncclCommDestroy");
  host_gpu_destroy_stream(of.streams[0]);
}

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

void wait_for_remote_error(const Rank& of) {
  ncclResult_t error = 0;
  for (int i = 0; error == 0 && i < 3000; ++i) {
    usleep(10000);
    must(ncclCommGetAsyncError(of.comm, &error), "ncclCommGetAsyncError");
  }
  expect(error == duet::nccl::kRemoteError, "an error of the communicator");
}

void expect_remote_error(const Rank& of) {
  wait_for_remote_error(of);
  must(ncclCommAbort(of.comm), "ncclCommAbort");
  host_gpu_synchronise(of.streams[0]);
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
  step.gather(of.comm, of.streams[0]);
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

// An error of one rank holds up what another rank's streams have not finished.
void wait_for_ranks(const Rank& of) {
  ncclComm_t none = nullptr;
  must(ncclCommSplit(of.comm, duet::nccl::kNoColor, of.rank, &none, nullptr), "ncclCommSplit");
}

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

// All of `all` are of one communicator, or of several that have as many ranks each.
void calls_in_groups(const std::vector<Rank>& all) {
  for (int number = 0; number < 12; ++number) {
    std::vector<std::unique_ptr<Step>> steps;
    must(ncclGroupStart(), "ncclGroupStart");
    for (const Rank& each : all) {
      steps.push_back(
          std::make_unique<Step>(each.rank, each.ranks, number, number % 2 == 0 ? kLarge : kSmall));
      steps.back()->fill(each.streams[0]);
      steps.back()->gather(each.comm, each.streams[0]);
    }
    must(ncclGroupEnd(), "ncclGroupEnd");
    for (std::size_t i = 0; i < all.size(); ++i) steps[i]->check(all[i].streams[0]);
    for (const Rank& each : all) each.synchronise();
  }
}

// A group in which all calls of one rank come before those of the next, more than a rank may be
// ahead of another.
void rank_by_rank(const std::vector<Rank>& all) {
  constexpr int kCalls = 1100;
  std::vector<std::unique_ptr<Step>> steps;
  must(ncclGroupStart(), "ncclGroupStart");
  for (const Rank& each : all) {
    steps.push_back(std::make_unique<Step>(each.rank, each.ranks, 1, kLarge));
    steps.back()->fill(each.streams[0]);
    for (int i = 0; i < kCalls; ++i) steps.back()->gather(each.comm, each.streams[0]);
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  for (std::size_t i = 0; i < all.size(); ++i) steps[i]->check(all[i].streams[0]);
  for (const Rank& each : all) each.synchronise();
}

// Ranks of odd numbers, and those of even ones.
void split_in_group(const std::vector<Rank>& all) {
  std::vector<Rank> parts;
  for (const Rank& each : all)
    parts.push_back({each.rank / 2, each.ranks / 2, nullptr, each.streams});
  must(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < all.size(); ++i) {
    must(ncclCommSplit(all[i].comm, all[i].rank % 2, all[i].rank, &parts[i].comm, nullptr),
         "ncclCommSplit");
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  calls_in_groups(parts);
  for (const Rank& each : parts) must(ncclCommDestroy(each.comm), "ncclCommDestroy");
}

// All ranks in one process and one thread, as nccl-tests with -g: everything is in groups.
enum class By { init, init_all, split, init_then_rank_by_rank };
int one_thread(int ranks, const ncclUniqueId& id, By by) {
  std::vector<Rank> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back({rank, ranks, nullptr, {}});
  must(ncclGroupStart(), "ncclGroupStart");
  for (Rank& each : all) {
    host_gpu_set_device(each.rank);
    each.streams.push_back(host_gpu_create_stream());
    if (by != By::init_all)
      must(ncclCommInitRank(&each.comm, ranks, id, each.rank), "ncclCommInitRank");
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  if (by == By::init_all) {
    std::vector<ncclComm_t> comms(all.size());
    must(ncclCommInitAll(comms.data(), ranks, nullptr), "ncclCommInitAll");
    for (std::size_t i = 0; i < all.size(); ++i) all[i].comm = comms[i];
  }
  calls_in_groups(all);
  if (by == By::split) split_in_group(all);
  if (by == By::init_then_rank_by_rank) rank_by_rank(all);
  for (const Rank& each : all) must(ncclCommDestroy(each.comm), "ncclCommDestroy");
  std::printf("all ranks: %d all-gathers by NCCL\n", fake_nccl_all_gathers());
  return failures;
}

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

int run(int rank, int ranks, const ncclUniqueId& id, const std::string& part) {
  host_gpu_set_device(rank);
  Rank of{rank, ranks, nullptr, {}};
  for (int i = 0; i < 3; ++i) of.streams.push_back(host_gpu_create_stream());
  duet::nccl::Config nonblocking;
  nonblocking.blocking = 0;
  if (part.rfind("nonblocking", 0) == 0 && part != "nonblocking_split") {
    if (part == "nonblocking_aborted") return abort_creation(of, id, &nonblocking);
    if (part == "nonblocking_stopped") {
      create_with_stopped(of, id, &nonblocking);
    } else {
      create_nonblocking(of, id, &nonblocking, part);
    }
  } else {
    must(ncclCommInitRank(&of.comm, ranks, id, rank), "ncclCommInitRank");
  }
  if (part == "calls" || part == "mixed" || part == "nonblocking" || part == "nonblocking_group") {
    calls(of, 1);
  }
  if (part == "nonblocking_late" || part == "nonblocking_stopped") calls(of, 1);
  if (part == "nonblocking_finalize") finalize_nonblocking(of);
  if (part == "streams") calls(of, 3);
  if (part == "group") group(of);
  if (part == "group_of_two") group_of_two(of);
  if (part == "simulated") simulated(of);
  if (part == "revoked") revoked(of);
  if (part == "reduce_scatter") reduce_scatter(of);
  if (part == "all_reduce") all_reduce(of);
  if (part == "split") split(of);
  if (part == "nonblocking_split") split(of, &nonblocking);
  if (part == "shrink") shrink_in_turn(of);
  if (part == "finalize") finalize(of);
  if (part == "captured") captured(of, 9, false);
  if (part == "captured_small") captured(of, 12, true);  // each copies its own part as well
  if (part == "forked") forked(of, id);
  if (part == "killed") {
    killed(of);
  } else if (part == "killed_behind") {
    killed_behind(of);
  } else if (part == "killed_in_launch") {
    killed_in_launch(of);
  } else if (part == "killed_at_once") {
    killed_at_once(of);
  } else if (part == "killed_and_shrunk") {
    killed_and_shrunk(of);
  } else if (part == "failed_device") {
    failed_device(of);
  } else {
    must(ncclCommDestroy(of.comm), "ncclCommDestroy");
  }
  std::printf("rank %d: %d all-gathers by NCCL\n", rank, fake_nccl_all_gathers());
  std::fflush(stdout);
  return failures;
}

}  // namespace

// Each rank is this program once more, so that what is preloaded is preloaded as for a user.
int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) {
    std::fprintf(stderr, "nccl_ranks: expected RANKS PART\n");
    return 2;
  }
  const int ranks = std::atoi(argv[1]);
  const std::string part = argv[2];
  ncclUniqueId id{};
  if (argc == 5) {
    std::snprintf(id.bytes, sizeof id.bytes, "%s", argv[4]);
    return run(std::atoi(argv[3]), ranks, id, part) == 0 ? 0 : 1;
  }
  std::snprintf(id.bytes, sizeof id.bytes, "/fake-nccl-%d", getpid());
  if (part == "one_thread") return one_thread(ranks, id, By::init) == 0 ? 0 : 1;
  if (part == "one_thread_split") return one_thread(ranks, id, By::split) == 0 ? 0 : 1;
  if (part == "rank_by_rank") return one_thread(ranks, id, By::init_then_rank_by_rank) == 0 ? 0 : 1;
  if (part == "init_all") return one_thread(ranks, id, By::init_all) == 0 ? 0 : 1;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    if (part == "mixed" && rank == 0) unsetenv("LD_PRELOAD");
    execl("/proc/self/exe", argv[0], argv[1], argv[2], std::to_string(rank).c_str(), id.bytes,
          nullptr);
    _exit(4);
  }
  int failed = 0;
  for (const pid_t each : processes) {
    int status = 0;
    waitpid(each, &status, 0);
    const bool meant = part.rfind("killed", 0) == 0 && WIFSIGNALED(status);
    if (status != 0 && !meant) ++failed;
  }
  return failed == 0 ? 0 : 1;
}
