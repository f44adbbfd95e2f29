// One process of a Communicator, for communicator.sh: communicator_ranks SCENARIO [ENGINE
// [DEVICE [PROVIDER]]]. With a provider each process is a node, and nodes are connected by rails.
//   open    sums on two communicators, each with a port of its own
//   own     sums in memory of the program's own, which the other process cannot map
//   die     the last rank exits without notice while the others' streams wait for it
//   beside  the same, while the others overlap compute with the call
//   throw   the last rank throws instead of planning
//   again   the last rank throws, each time at another point, and all go on
//   refuse  the last rank's buffer is too small at first, and all plan again
//   frees   process 0 ends its calls first: memory that the others have mapped is not freed
//   large   a broadcast from the last rank that is cut into pieces and forwarded
// The exit code is 0 if every check holds, else 1; 2 for a UsageError; 77 where there are no rails.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "communicator/communicator.h"
#include "fabric/library.h"
#include "runtime/overlap.h"

namespace {

using namespace duet;

constexpr double kDeadlineSeconds = 20;
constexpr std::uint64_t kCount = 1000;

Collective sum() {
  Collective collective;
  collective.kind = CollectiveKind::all_reduce;
  collective.dtype = DType::int32;
  collective.count = kCount;
  return collective;
}

void add_up(LocalRank& rank) {
  const auto buffer = rank.allocate(kCount * 4);
  CollectiveCall call = rank.plan(sum(), buffer->span(), buffer->span());
  std::vector<std::int32_t> values(kCount, rank.index() + 1);
  rank.device().write(buffer->span(), values.data());
  const auto stream = rank.device().make_stream();
  call.enqueue(*stream);
  call.enqueue(*stream);
  stream->synchronize(kDeadlineSeconds);
  rank.device().read(buffer->span(), values.data());
  const std::vector<std::int32_t> expected(kCount,
                                           rank.size() * rank.size() * (rank.size() + 1) / 2);
  if (values != expected) throw Mismatch("a wrong sum");
  rank.retire(std::move(call));
}

void add_up_own(LocalRank& rank) {
  std::vector<std::int32_t> values(kCount, rank.index() + 1);
  CollectiveCall call = rank.plan(sum(), values.data(), values.data());
  const auto stream = rank.device().make_stream();
  call.enqueue(*stream);
  stream->synchronize(kDeadlineSeconds);
  const std::vector<std::int32_t> expected(kCount, rank.size() * (rank.size() + 1) / 2);
  if (values != expected) throw Mismatch("a wrong sum");
  rank.retire(std::move(call));
}

// Buffers and calls are freed only after each(), because streams of other ranks may still use them
// when a rank throws.
void wait_for_the_dead(Communicator& communicator) {
  std::vector<std::unique_ptr<CollectiveMemory>> buffers(2);
  std::vector<CollectiveCall> calls(2);
  communicator.each([&](LocalRank& rank) {
    const auto local = static_cast<std::size_t>(rank.local());
    buffers[local] = rank.allocate(kCount * 4);
    calls[local] = rank.plan(sum(), buffers[local]->span(), buffers[local]->span());
    if (rank.index() == rank.size() - 1) _exit(0);
    const auto stream = rank.device().make_stream();
    calls[local].enqueue(*stream);
    stream->synchronize(kDeadlineSeconds);
    calls[local].enqueue(*stream);
  });
}

// A rank's compute must run, and its stream must become idle, although a peer is gone.
void compute_beside_the_dead(Communicator& communicator) {
  std::vector<std::unique_ptr<CollectiveMemory>> buffers(2);
  std::vector<CollectiveCall> calls(2);
  std::vector<std::unique_ptr<Overlap>> overlaps(2);
  communicator.each([&](LocalRank& rank) {
    const auto local = static_cast<std::size_t>(rank.local());
    buffers[local] = rank.allocate(kCount * 4);
    calls[local] = rank.plan(sum(), buffers[local]->span(), buffers[local]->span());
    overlaps[local] = std::make_unique<Overlap>(rank);
    if (rank.index() == rank.size() - 1) _exit(0);
    const auto stream = rank.device().make_stream();
    int tried = 0, computed = 0;
    const auto compute = [&](Stream& own) { own.run({"compute", {}, [&] { ++computed; }}); };
    try {
      for (; tried < 2; stream->synchronize(kDeadlineSeconds)) {
        ++tried;
        overlaps[local]->enqueue(*stream, calls[local], compute);
      }
    } catch (const PeerFailed&) {
      stream->synchronize(kDeadlineSeconds);
      if (computed != tried) throw Mismatch("compute was not run beside a call that failed");
      throw;
    }
  });
}

// The number of allocations of this process that others can map: open files without a name.
std::size_t own_allocations() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(each.path(), gone).string();
    count += target.rfind("/memfd:duet", 0) == 0 ? 1 : 0;
  }
  return count;
}

// The number of mappings of such files in this process, those of its own allocations included.
std::size_t mappings() {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    count += line.find("/memfd:duet") != std::string::npos ? 1 : 0;
  }
  return count;
}

// Throws in the first rank of the process unless `holds`; between two barriers.
void require_counts(LocalRank& rank, bool holds, const char* what) {
  rank.barrier();
  if (rank.local() == 0 && !holds) throw Mismatch(what);
  rank.barrier();
}

void free_in_order(LocalRank& rank) {
  const auto buffer = rank.allocate(kCount * 4);
  rank.barrier();
  const std::size_t allocated = own_allocations(), mapped = mappings();
  rank.barrier();
  CollectiveCall call = rank.plan(sum(), buffer->span(), buffer->span());
  rank.barrier();
  const std::size_t with_call = own_allocations(), mapped_with_call = mappings();
  require_counts(rank, with_call > allocated && mapped_with_call > mapped, "no memory of its own");
  const auto stream = rank.device().make_stream();
  call.enqueue(*stream);
  stream->synchronize(kDeadlineSeconds);
  rank.barrier();
  const bool first = rank.index() < 2;  // a rank of the first process
  if (first) call = {};
  rank.barrier();
  require_counts(rank, own_allocations() == with_call, "freed before the others have ended");
  require_counts(rank, !first || mappings() < mapped_with_call, "mapped after its end");
  call = {};
  CollectiveCall next = rank.plan(sum(), buffer->span(), buffer->span());
  rank.barrier();
  require_counts(rank, own_allocations() == with_call, "the next plan does not free");
  rank.retire(std::move(next));
  rank.barrier();
  require_counts(rank, own_allocations() == allocated, "not freed in the end");
  require_counts(rank, mappings() == mapped, "mapped in the end");
}

void throw_on_the_last(LocalRank& rank) {
  if (rank.index() == rank.size() - 1) throw Mismatch("on purpose");
  add_up(rank);
}

enum class Point { before_planning, planned, enqueued };

void throw_at(Point point, LocalRank& rank, std::unique_ptr<CollectiveMemory>& buffer,
              CollectiveCall& call) {
  const auto reached = [&](Point at) {
    if (at == point && rank.index() == rank.size() - 1) throw Mismatch("on purpose");
  };
  const auto stream = rank.device().make_stream();
  reached(Point::before_planning);
  buffer = rank.allocate(kCount * 4);
  call = rank.plan(sum(), buffer->span(), buffer->span());
  reached(Point::planned);
  call.enqueue(*stream);
  reached(Point::enqueued);
  stream->synchronize(kDeadlineSeconds);
  rank.barrier("the last rank, which throws");
}

void require_refusal(LocalRank& rank, CollectiveCall& call) {
  const auto stream = rank.device().make_stream();
  try {
    call.enqueue(*stream);
  } catch (const PeerFailed&) {
    return;
  }
  throw Error("a call that was planned before the error was taken");
}

void throw_and_go_on(Communicator& communicator) {
  std::vector<std::unique_ptr<CollectiveMemory>> buffers(2);
  std::vector<CollectiveCall> calls(2);
  for (const Point point : {Point::planned, Point::enqueued, Point::before_planning}) {
    try {
      communicator.each([&](LocalRank& rank) {
        const auto local = static_cast<std::size_t>(rank.local());
        throw_at(point, rank, buffers[local], calls[local]);
      });
      throw Error("nobody noticed");
    } catch (const Mismatch&) {
    }
    communicator.each(add_up);
    communicator.each([&](LocalRank& rank) {
      require_refusal(rank, calls[static_cast<std::size_t>(rank.local())]);
    });
  }
}

// The last rank's error states what is wrong with its buffer. The errors of the others also name
// the last rank.
void plan_again(LocalRank& rank) {
  const int last = rank.size() - 1;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto buffer = rank.allocate(kCount * 4);
    const Span small = buffer->span().slice(0, 100);
    try {
      rank.plan(sum(), buffer->span(), rank.index() == last ? small : buffer->span());
    } catch (const BadArgument& error) {
      const std::string text = error.what(), whose = "rank " + std::to_string(last) + ": ";
      if ((text.rfind(whose, 0) == 0) != (rank.index() != last)) throw;
      add_up(rank);
      continue;
    }
    throw Error("a buffer that is too small was accepted");
  }
}

void send_large(LocalRank& rank) {
  Collective one;
  one.kind = CollectiveKind::broadcast;
  one.dtype = DType::int32;
  one.count = 3000001;
  one.root = rank.size() - 1;
  const auto buffer = rank.allocate(one.count * 4);
  CollectiveCall call = rank.plan(one, buffer->span(), buffer->span());
  const auto stream = rank.device().make_stream();
  for (int round = 1; round < 4; ++round) {
    std::vector<std::int32_t> values(one.count, -1), expected(one.count);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = static_cast<std::int32_t>(i) * round;
    }
    rank.device().write(buffer->span(), (rank.index() == one.root ? expected : values).data());
    rank.barrier("all ranks to have filled their buffers");
    call.enqueue(*stream);
    stream->synchronize(kDeadlineSeconds);
    rank.device().read(buffer->span(), values.data());
    if (values != expected) throw Mismatch("a wrong broadcast, by " + call.algorithm());
    rank.barrier("all ranks to have looked");
  }
  rank.retire(std::move(call));
}

void run(const std::string& scenario, const CommunicatorOptions& options) {
  Communicator communicator(options);
  if (scenario == "open") {
    CommunicatorOptions next = options;
    next.port = std::stoi(std::getenv("MASTER_PORT")) + 1;
    Communicator second(next);
    second.each(add_up);
    return communicator.each(add_up);
  }
  if (scenario == "again") return throw_and_go_on(communicator);
  if (scenario == "refuse") return communicator.each(plan_again);
  if (scenario == "large") return communicator.each(send_large);
  if (scenario == "frees") return communicator.each(free_in_order);
  if (scenario == "own") return communicator.each(add_up_own);
  try {
    if (scenario == "die") wait_for_the_dead(communicator);
    if (scenario == "beside") compute_beside_the_dead(communicator);
    communicator.each(throw_on_the_last);
  } catch (const PeerFailed&) {
    if (scenario == "die" || scenario == "beside") return;
    throw;
  } catch (const Mismatch& error) {
    if (std::string(error.what()).find("on purpose") != std::string::npos) return;
    throw;
  }
  throw Error("nobody noticed");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 2)
      throw UsageError("usage: communicator_ranks SCENARIO [ENGINE [DEVICE [PROVIDER]]]");
    const std::string device = count > 3 ? arguments[3] : "host:2";
    CommunicatorOptions options{device, count > 2 ? arguments[2] : "auto", 0, 10};
    if (count > 4) {
      options.network.provider = arguments[4];
      options.node_size = 2;
      static_cast<void>(fabric_library().rails(options.network.provider));
    }
    run(arguments[1], options);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const Unavailable& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
