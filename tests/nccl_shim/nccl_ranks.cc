// A program of a user of NCCL, with all-gathers and messages of two sizes on RANKS processes:
//   nccl_ranks RANKS PART
// PART: one_thread, one_thread_split, rank_by_rank, init_all (all ranks in this process), calls,
// reduce_scatter, all_reduce, streams, streams_of_threads, signals, configured, group,
// group_of_two, refused_in_group, window_refused_in_group, simulated, revoked, split,
// nonblocking_split, shrink, finalize, nonblocking, nonblocking_group, nonblocking_late,
// nonblocking_stopped, nonblocking_aborted, nonblocking_finalize, captured, captured_small, forked,
// restarted, killed, killed_alive (by who runs it), last_error, killed_in_launch, killed_at_once,
// killed_behind, killed_and_shrunk, mixed (rank 0 without LD_PRELOAD), unlike (rank 0 with another
// threshold of messages); with the stand-in for libcuda: failed_device, aborted_behind_copy,
// aborted_behind_copy_small, segments, segments_remapped, segments_not_exportable,
// segments_few_descriptors, segments_refused, segments_come_and_go, segments_of_one_thread,
// killed_with_segments. Messages: messages, messages_of_one_thread, killed_in_message,
// nonblocking_messages, messages_captured, grouped_all_to_all. Each process prints how many calls
// came to the real NCCL; exit code 0 if all data were right.
#include "nccl_ranks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace nccl_ranks {

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

void calls(const Rank& of, std::size_t streams, int count) {
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

namespace {

void take_a_while(void*) { usleep(500); }

// Two threads in turn, each on its own default stream, the second in groups. What a call sends is
// filled on the other thread's stream, before the call before it: only the order of calls orders
// both.
void streams_of_threads(const Rank& of) {
  void* const of_thread = reinterpret_cast<void*>(2);  // cudaStreamPerThread
  constexpr int kSteps = 24;
  std::vector<std::unique_ptr<Step>> steps;
  for (int number = 0; number < kSteps; ++number) {
    steps.push_back(
        std::make_unique<Step>(of.rank, of.ranks, number, number % 3 == 0 ? kSmall : kLarge));
  }
  std::memset(steps[0]->send, steps[0]->value(of.rank), kSmall);
  std::atomic<int> next{0};
  const auto in_turn = [&](int first) {
    for (int number = first; number < kSteps; number += 2) {
      while (next < number) usleep(20);
      Step& step = *steps[static_cast<std::size_t>(number)];
      if (number + 1 < kSteps) {
        host_gpu_launch(of_thread, take_a_while, nullptr);
        steps[static_cast<std::size_t>(number) + 1]->fill(of_thread);
      }
      if (first == 1) must(ncclGroupStart(), "ncclGroupStart");
      step.gather(of.comm, of_thread);
      if (first == 1) must(ncclGroupEnd(), "ncclGroupEnd");
      step.check(of_thread);
      next = number + 1;
    }
    host_gpu_synchronise(of_thread);
  };
  std::thread other(in_turn, 1);
  in_turn(0);
  other.join();
}

}  // namespace

void split(const Rank& of, duet::nccl::Config* config) {
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

namespace {

// A call of NCCL, as a signal, is behind the call before it, and the call behind it waits for what
// its stream had.
template <typename Signal>
void signal_between_calls(const Rank& of, const Signal& signal) {
  Step before(of.rank, of.ranks, 1, kLarge), behind(of.rank, of.ranks, 2, kLarge);
  host_gpu_launch(of.streams[0], take_a_while, nullptr);
  before.fill(of.streams[0]);
  before.gather(of.comm, of.streams[0]);
  must(signal(of.streams[1]), "a call of NCCL");
  before.check(of.streams[1]);
  host_gpu_launch(of.streams[1], take_a_while, nullptr);
  behind.fill(of.streams[1]);
  behind.gather(of.comm, of.streams[0]);
  behind.check(of.streams[0]);
  of.synchronise();
}

void signals(const Rank& of) {
  signal_between_calls(of, [&](void* stream) {
    return ncclPutSignal(nullptr, 1, 2, 3, nullptr, 4, 5, 6, 7, of.comm, stream);
  });
  signal_between_calls(of, [&](void* stream) { return ncclSignal(1, 2, 3, 4, of.comm, stream); });
  signal_between_calls(of,
                       [&](void* stream) { return ncclWaitSignal(1, nullptr, of.comm, stream); });
}

ncclResult_t gather(const Step& step, const Rank& of, const duet::nccl::CallConfig* config) {
  return ncclAllGatherConfig(step.send, step.receive, step.bytes, duet::nccl::kUint8, of.comm,
                             of.streams[0], config);
}

// Calls with a configuration of their own: those without one, or with a tag only, as plain calls.
void configured(const Rank& of) {
  duet::nccl::CallConfig tagged, limited;
  tagged.profiler_tag = limited.profiler_tag = 42;
  limited.max_ctas = 4;
  for (const duet::nccl::CallConfig* each :
       {static_cast<duet::nccl::CallConfig*>(nullptr), &tagged, &limited}) {
    Step step(of.rank, of.ranks, 1, kLarge);
    step.fill(of.streams[0]);
    must(gather(step, of, each), "ncclAllGatherConfig");
    step.check(of.streams[0]);
    of.synchronise();
  }
  // A group that is simulated hands its calls to NCCL when the program's configuration has gone.
  Step not_made(of.rank, of.ranks, 1, kLarge);
  must(ncclGroupStart(), "ncclGroupStart");
  {
    duet::nccl::CallConfig gone = tagged;
    must(gather(not_made, of, &gone), "ncclAllGatherConfig");
    gone.profiler_tag = 0;
  }
  must(ncclGroupSimulateEnd(nullptr), "ncclGroupSimulateEnd");
  signal_between_calls(of, [&](void* stream) {
    return ncclScatterConfig(nullptr, nullptr, 1, 2, 3, of.comm, stream, &limited);
  });
}

// All calls are done: a rank that revokes is no error of another, nor of its own.
void revoked(const Rank& of) {
  calls(of, 1, 2);
  expect(ncclCommRevoke(of.comm, 1) == duet::nccl::kInvalidArgument, "flags that are refused");
  calls(of, 1, 2);
  must(ncclCommRevoke(of.comm, 0), "ncclCommRevoke");
  must(state_of(of.comm), "ncclCommGetAsyncError's state");
  Step step(of.rank, of.ranks, 1, kLarge);
  expect(ncclAllGather(step.send, step.receive, kLarge, duet::nccl::kUint8, of.comm,
                       of.streams[0]) == duet::nccl::kInvalidUsage,
         "NCCL's own error of a call on a revoked communicator");
  split(of);
}

// Three ranks, of which each but the first is left out once, and rank 2 once more.
void shrink_in_turn(const Rank& of) {
  for (const int excluded : {2, 1, 2}) {
    if (of.rank != excluded) shrink(of, excluded, 0);
  }
  const int large_and_small = of.rank == 0 ? 12 : of.rank == 1 ? 8 : 4;
  expect(fake_nccl_calls() == large_and_small / 2, "half of the calls by NCCL");
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

// Calls that are captured, one node each, with kernels that fill and check, and some on a stream of
// its own if they are `taken`. Calls between launches are taken over, and the stream may go
// before the next of them.
void captured(const Rank& of, bool taken) {
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
  expect(host_gpu_graph_size(graph) == 9, "a graph of 3 calls and 6 kernels");
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

int run(int rank, int ranks, const ncclUniqueId& id, const std::string& part) {
  host_gpu_set_device(rank);
  Rank of{rank, ranks, nullptr, {}};
  for (int i = 0; i < 3; ++i) of.streams.push_back(host_gpu_create_stream());
  duet::nccl::Config nonblocking;
  nonblocking.blocking = 0;
  if (part == "segments_refused" && rank == 0) use_up_descriptors(0);
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
  if (part == "calls" || part == "mixed" || part == "unlike" || part == "unlike_models" ||
      part == "nonblocking" || part == "nonblocking_group") {
    calls(of, 1);
  }
  if (part == "nonblocking_late" || part == "nonblocking_stopped") calls(of, 1);
  if (part == "nonblocking_messages") messages_nonblocking(of);
  if (part == "nonblocking_finalize") finalize_nonblocking(of);
  if (part == "streams") calls(of, 3);
  if (part == "streams_of_threads") streams_of_threads(of);
  if (part == "signals") signals(of);
  if (part == "group") group(of);
  if (part == "messages") messages(of);
  if (part == "messages_captured") messages_captured(of);
  if (part == "grouped_all_to_all") grouped_all_to_all(of);
  if (part == "group_of_two") group_of_two(of);
  if (part == "refused_in_group") refused_in_group(of);
  if (part == "window_refused_in_group") window_refused_in_group(of);
  if (part == "configured") configured(of);
  if (part == "together") together(of, id, true);
  if (part == "together_on_one") together(of, id, false);
  if (part == "split_together") split_together(of);
  if (part == "simulated") simulated(of);
  if (part == "revoked") revoked(of);
  if (part == "reduce_scatter") reduce_scatter(of);
  if (part == "all_reduce") all_reduce(of);
  if (part == "split") split(of);
  if (part == "nonblocking_split") split(of, &nonblocking);
  if (part == "shrink") shrink_in_turn(of);
  if (part == "finalize") finalize(of);
  if (part == "captured") captured(of, false);
  if (part == "captured_small") captured(of, true);
  if (part == "forked") forked(of, id);
  if (part == "restarted") restarted(of, id);
  if (part == "segments") segments(of);
  if (part == "segments_remapped") segments_remapped(of);
  if (part == "segments_not_exportable") segments_not_exportable(of);
  if (part == "segments_few_descriptors") segments_few_descriptors(of);
  if (part == "segments_refused") segments_refused(of);
  if (part == "segments_come_and_go") segments_come_and_go(of);
  if (part == "last_error") {
    last_error(of);
  } else if (part == "killed") {
    killed(of);
  } else if (part == "killed_alive") {
    calls(of, 1);
    for (int i = 0; i < 600; ++i) usleep(100000);
    expect(false, "killed within a minute");
  } else if (part == "killed_in_message") {
    killed_in_message(of);
  } else if (part == "killed_behind") {
    killed_behind(of);
  } else if (part == "killed_in_launch") {
    killed_in_launch(of);
  } else if (part == "killed_at_once") {
    killed_at_once(of);
  } else if (part == "killed_and_shrunk") {
    killed_and_shrunk(of);
  } else if (part == "aborted_behind_copy") {
    aborted_behind_copy(of, kLarge);
  } else if (part == "aborted_behind_copy_small") {
    aborted_behind_copy(of, kSmall);
  } else if (part == "killed_with_segments") {
    killed_with_segments(of);
  } else if (part == "failed_device") {
    failed_device(of);
  } else {
    must(ncclCommDestroy(of.comm), "ncclCommDestroy");
  }
  std::printf("rank %d: %d calls by NCCL\n", rank, fake_nccl_calls());
  std::fflush(stdout);
  return failures;
}

}  // namespace
}  // namespace nccl_ranks

using nccl_ranks::By;
using nccl_ranks::one_thread;
using nccl_ranks::run;
using nccl_ranks::segments_of_one_thread;

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
  if (part == "messages_of_one_thread") return one_thread(ranks, id, By::messages) == 0 ? 0 : 1;
  if (part == "one_thread_split") return one_thread(ranks, id, By::split) == 0 ? 0 : 1;
  if (part == "rank_by_rank") return one_thread(ranks, id, By::init_then_rank_by_rank) == 0 ? 0 : 1;
  if (part == "segments_of_one_thread") return segments_of_one_thread(ranks, id) == 0 ? 0 : 1;
  if (part == "init_all") return one_thread(ranks, id, By::init_all) == 0 ? 0 : 1;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    if (part == "mixed" && rank == 0) unsetenv("LD_PRELOAD");
    if (part == "unlike_models" && rank == 0) setenv("HOST_GPU_MODEL", "Another GPU", 1);
    if (part == "unlike" && rank == 0) setenv("DUET_NCCL_MIN_SEND_RECV", "1G", 1);
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
