// Ranks on GPUs that are killed, stopped or end their communicator, at each point of a call. The
// others must come to an end, as with NCCL alone: get the error where the drop-in knows it, or give
// up by themselves as a watchdog does, end the communicator, and find that nothing writes any more.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <thread>
#include <tuple>

#include "core/error.h"
#include "gpu_rank.h"
#include "nccl_shim/protocol/process_resources_fixture.h"

namespace duet::nccl_shim::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWatchdog = 2500;    // ms until a rank gives up
constexpr double kLongAbort = 15000;  // ms; the drop-in's waits 10 s at most for peers
constexpr int kFilled = 0x5a;

// For a millisecond or more.
int many_calls(const CallKind& kind) { return kind.part < (1u << 20) ? 100 : 20; }

enum class Point {
  before_first,      // of its first call
  between,           // after calls that have ended
  came_first,        // its call waits for the others, which make theirs when it is gone
  with_new_buffers,  // likewise, and the others have never mapped its buffers
  came_second,       // the others wait in a call; it has just made the call, and copies may run
  behind             // all have enqueued many calls, of which the first ones run
};
enum class End { killed, stopped, aborted };
// In the order of the values.
constexpr const char* kPoints[] = {"before_first",     "between",     "came_first",
                                   "with_new_buffers", "came_second", "behind"};
constexpr const char* kEnds[] = {"killed", "stopped", "aborted"};

std::vector<CallKind> kinds() {
  using Function = CallKind::Function;
  constexpr std::size_t kLarge = std::size_t{128} << 20, kMiddle = std::size_t{4} << 20,
                        kSmall = std::size_t{16} << 10;
  const char *const by_copies = "by copy engines;", *const by_packets = "B as packets;";
  const std::pair<const char*, const char*> packets = {"DUET_NCCL_PACKETS", "64K"},
                                            kernel = {"DUET_NCCL_KERNEL", "1G"},
                                            no_copies = {"DUET_NCCL_MIN_ALL_GATHER", "2G"},
                                            staged = {"DUET_NCCL_MODE", "staged"};
  return {{"all_gather", Function::all_gather, kLarge, {}, by_copies, true},
          {"exchange", Function::exchange, kLarge, {}, by_copies, true},
          {"staged", Function::all_gather, kLarge, {staged}, "by copy engines through slots;"},
          {"reduce_scatter", Function::reduce_scatter, kLarge, {}, by_copies},
          {"all_reduce", Function::all_reduce, kLarge / 2, {}, by_copies, true},
          {"packets", Function::all_gather, kSmall, {packets}, by_packets},
          {"captured", Function::captured_all_gather, kSmall, {packets}, by_packets},
          {"chunks", Function::all_gather, kMiddle, {kernel, no_copies}, "by a kernel;"},
          {"captured_chunks",
           Function::captured_all_gather,
           kMiddle,
           {kernel, no_copies},
           "by a kernel;"},
          {"nccl_all_gather", Function::all_gather, kLarge, {}, ""},
          {"nccl_exchange", Function::exchange, kLarge, {}, ""}};
}

using Case = std::tuple<CallKind, Point, End>;

// NCCL's first call waits for its peers on the CPU, and for ever if one has ended.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const CallKind& kind : kinds()) {
    for (const Point point : {Point::before_first, Point::between, Point::came_first,
                              Point::with_new_buffers, Point::came_second, Point::behind}) {
      if (point == Point::with_new_buffers && !kind.lends) continue;
      if (point == Point::before_first && kind.by_nccl()) continue;
      for (const End end : {End::killed, End::stopped, End::aborted}) {
        all.emplace_back(kind, point, end);
      }
    }
  }
  return all;
}

std::string name_of(const Case& of) {
  const auto& [kind, point, end] = of;
  return kind.name + "_" + kPoints[static_cast<std::size_t>(point)] + "_" +
         kEnds[static_cast<std::size_t>(end)];
}

// One rank's part of a case. The last rank is the one that ends.
class Part {
 public:
  Part(const Case& of, int rank, int ranks, SharedByRanks& shared)
      : case_(of),
        rank_(rank),
        ranks_(ranks),
        shared_(shared),
        outcome_(shared.outcome[static_cast<std::size_t>(rank)]),
        gpu_(std::get<CallKind>(of), rank, ranks, shared) {}

  void run() {
    const Point point = std::get<Point>(case_);
    if (point != Point::before_first) {
      for (int i = 0; i < 3; ++i) call();
      gpu_.synchronise();
    }
    ++shared_.arrived;
    wait_until([this] { return shared_.arrived == ranks_; }, "all ranks at the point");
    if (rank_ == ranks_ - 1) {
      end_at(point);
    } else {
      go_on(point);
    }
  }

 private:
  void call() {
    note(gpu_.call());
    has_data_ = true;
  }

  // An error of the call counts as one of the communicator.
  void note(nccl::Result result) {
    if (result == nccl::kSuccess || result == nccl::kInProgress || outcome_.error_after >= 0)
      return;
    outcome_.error_after = milliseconds_since(begin_);
    std::snprintf(outcome_.text.data(), outcome_.text.size(), "%s", gpu_.last_error().c_str());
  }

  void call_at(Point point) {
    if (point != Point::behind) return call();
    gpu_.hold();
    for (int i = 0; i < many_calls(std::get<CallKind>(case_)); ++i) call();
    gpu_.release();
  }
  bool called(int rank) const { return shared_.has_called[static_cast<std::size_t>(rank)]; }
  void has_called() { shared_.has_called[static_cast<std::size_t>(rank_)] = true; }

  void end_at(Point point) {
    if (point == Point::with_new_buffers) gpu_.replace_buffers();
    if (point == Point::came_second) {
      for (int rank = 0; rank + 1 < ranks_; ++rank) {
        wait_until([this, rank] { return called(rank); }, "a call of another rank");
      }
    }
    const bool calls = point != Point::before_first && point != Point::between;
    if (calls) call_at(point);
    has_called();
    const bool came_first = point == Point::came_first || point == Point::with_new_buffers;
    if (came_first) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    switch (std::get<End>(case_)) {
      case End::killed:
        raise(SIGKILL);
        break;
      case End::stopped:
        raise(SIGSTOP);
        watch();
        break;
      case End::aborted:
        break;
    }
    abort();
    fill_and_look();
  }

  void go_on(Point point) {
    if (point == Point::came_first || point == Point::with_new_buffers) {
      wait_until([this] { return called(ranks_ - 1); }, "a call of the rank that ends");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    begin_ = Clock::now();
    call_at(point);
    has_called();
    watch();
    abort();
    fill_and_look();
  }

  // Until there is an error, or for as long as a watchdog waits. If all calls end, one more is
  // made.
  void watch() {
    begin_ = Clock::now();
    while (outcome_.error_after < 0 && milliseconds_since(begin_) < kWatchdog) {
      note(gpu_.error());
      if (outcome_.error_after < 0 && gpu_.has_ended()) {
        if (has_data_) outcome_.right_data = outcome_.right_data && gpu_.data_are_right();
        call();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void abort() {
    const Clock::time_point begin = Clock::now();
    gpu_.abort();
    gpu_.synchronise();
    outcome_.abort_took = milliseconds_since(begin);
  }

  // A rank that was stopped goes on meanwhile.
  void fill_and_look() {
    gpu_.fill(kFilled);
    const pid_t last = shared_.process[static_cast<std::size_t>(ranks_ - 1)];
    if (std::get<End>(case_) == End::stopped && rank_ != ranks_ - 1) kill(last, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    outcome_.data_kept = gpu_.holds(kFilled);
  }

  const Case& case_;
  const int rank_, ranks_;
  SharedByRanks& shared_;
  SharedByRanks::Outcome& outcome_;
  GpuRank gpu_;
  bool has_data_ = false;  // has made a call
  Clock::time_point begin_ = Clock::now();
};

// Memory that children share with this process.
class Shared {
 public:
  Shared()
      : memory_(mmap(nullptr, sizeof(SharedByRanks), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        of_(new (memory_) SharedByRanks) {}
  ~Shared() { munmap(memory_, sizeof(SharedByRanks)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  SharedByRanks& operator*() const { return *of_; }
  SharedByRanks* operator->() const { return of_; }

 private:
  void* memory_;
  SharedByRanks* of_;
};

struct Ended {
  std::vector<int> statuses;  // of each rank's process, as waitpid has them
  std::string said;           // on standard error, by all
};

[[noreturn]] void run_and_exit(int rank, std::FILE* said, const std::function<void(int)>& part) {
  setenv("DUET_NCCL_LOG", "info", 1);
  dup2(fileno(said), STDERR_FILENO);
  try {
    part(rank);
    std::fflush(stdout);
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    _exit(1);
  }
}

std::string contents_of(std::FILE* file) {
  std::string all(static_cast<std::size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  const ssize_t read = pread(fileno(file), all.data(), all.size(), 0);
  all.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  return all;
}

// `part` in a process a rank, which is killed if it has not ended within a minute.
Ended in_processes(int ranks, const Shared& shared, const std::function<void(int rank)>& part) {
  std::FILE* const said = std::tmpfile();
  if (said == nullptr) throw Error("no file for what ranks say");
  fcntl(fileno(said), F_SETFL, O_APPEND);
  std::fflush(stdout);  // or children print it once more
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) run_and_exit(rank, said, part);
    if (child < 0) {
      for (const pid_t each : children) kill(each, SIGKILL);
      throw Error("fork failed");
    }
    children.push_back(child);
    shared->process[static_cast<std::size_t>(rank)] = child;
  }
  Ended ended;
  const Clock::time_point begin = Clock::now();
  for (const pid_t child : children) {
    int& status = ended.statuses.emplace_back(0);
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (milliseconds_since(begin) > 60e3) kill(child, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  ended.said = contents_of(said);
  std::fclose(said);
  return ended;
}

// With a GPU for each of at least two ranks; else the test is skipped.
class OnGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    ranks_ = count_gpu_ranks();
    if (ranks_ < 2) GTEST_SKIP() << "needs two GPUs";
    try {
      nccl::library();
    } catch (const std::exception& error) {
      GTEST_SKIP() << error.what();
    }
  }
  int ranks_ = 0;
};

class EndsOnGpus : public OnGpus, public ::testing::WithParamInterface<Case> {};

bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

TEST_P(EndsOnGpus, TheOthersComeToAnEnd) {
  const auto& [kind, point, end] = GetParam();
  const Shared shared;
  const Ended ended = in_processes(
      ranks_, shared, [&](int rank) { Part(GetParam(), rank, ranks_, *shared).run(); });
  EXPECT_NE(ended.said.find(kind.said), std::string::npos) << "these calls were not taken over";
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool is_last = rank + 1 == ranks_;
    const int status = ended.statuses[static_cast<std::size_t>(rank)];
    if (is_last && end == End::killed) {
      EXPECT_TRUE(was_killed(status)) << "the rank that is killed ended before: " << status;
      continue;
    }
    const SharedByRanks::Outcome& outcome = shared->outcome[static_cast<std::size_t>(rank)];
    std::printf("%-44s rank %d: error after %7.1f ms, abort took %7.1f ms  %s%s\n",
                name_of(GetParam()).c_str(), rank, outcome.error_after, outcome.abort_took,
                outcome.text.data(), outcome.right_data ? "" : "wrong data of a call that ended");
    EXPECT_EQ(status, 0) << "rank " << rank << " did not end by itself";
    EXPECT_LT(outcome.abort_took, kLongAbort);
    // NCCL itself ends calls of ranks whose peer has aborted, with wrong data.
    EXPECT_TRUE(outcome.right_data || kind.by_nccl()) << "wrong data of a call of rank " << rank;
    EXPECT_TRUE(outcome.data_kept) << "something wrote to rank " << rank << " behind its abort";
    if (!kind.by_nccl() && end != End::stopped && !is_last) {
      EXPECT_GE(outcome.error_after, 0) << "rank " << rank << " got no error";
    }
  }
  if (HasFailure()) std::printf("%s", ended.said.c_str());
}

INSTANTIATE_TEST_SUITE_P(Calls, EndsOnGpus, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& each) {
                           return name_of(each.param);
                         });

class BuffersOnGpus : public OnGpus {};

std::size_t free_memory() {
  std::size_t free = 0, all = 0;
  must_succeed(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  return free;
}

// Other ranks replace their buffers at other calls.
TEST_F(BuffersOnGpus, TenThousandCallsWithBuffersThatComeAndGoLeaveNothing) {
  const CallKind kind{
      "all_gather", CallKind::Function::all_gather, std::size_t{2} << 20, {}, "by copy engines;"};
  const Shared shared;
  const Ended ended = in_processes(ranks_, shared, [&](int rank) {
    GpuRank gpu(kind, rank, ranks_, *shared);
    std::size_t files = 0, maps = 0, memory = 0;
    for (int number = 0; number < 10000; ++number) {
      if (number % (4 + rank) == 0) gpu.replace_buffers();
      if (gpu.call() != nccl::kSuccess) throw Error(gpu.last_error());
      if (number % 20 == 19) {
        gpu.synchronise();
        if (!gpu.data_are_right()) throw Error("wrong data of call " + std::to_string(number));
      }
      if (number == 999) files = open_files(), maps = mappings(), memory = free_memory();
    }
    std::printf(
        "rank %d, calls 1000 to 10000: open files %+ld, mappings %+ld, memory in use %+ld B\n",
        rank, static_cast<long>(open_files() - files), static_cast<long>(mappings() - maps),
        static_cast<long>(memory - free_memory()));
    if (open_files() > files + 4) throw Error("files stay open");
    if (mappings() > maps + 16) throw Error("memory stays mapped");
    if (free_memory() + (std::size_t{64} << 20) < memory) {
      throw Error("memory of the GPU stays in use");
    }
  });
  for (const int status : ended.statuses) EXPECT_EQ(status, 0) << ended.said;
  EXPECT_NE(ended.said.find(kind.said), std::string::npos) << "these calls were not taken over";
}

}  // namespace
}  // namespace duet::nccl_shim::testing
