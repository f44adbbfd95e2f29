// One process of a Communicator, for communicator.sh: communicator_ranks SCENARIO [ENGINE].
//   open    sums on two communicators, each with a port of its own
//   own     sums in memory of the program's own, which the other process cannot map
//   die     the last rank ends without a word while the others' streams wait for it
//   beside  the same, while the others overlap compute with the call
//   throw   the last rank throws instead of planning
// Exit code 0 if all was as it should be, else 1; 2 for a UsageError.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "communicator/communicator.h"
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

// What peers' streams may still use when a rank is thrown out goes after each().
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

// What a rank computes is there although its peer is gone, and its stream ends.
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

void throw_on_the_last(LocalRank& rank) {
  if (rank.index() == rank.size() - 1) throw Mismatch("on purpose");
  add_up(rank);
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
    if (count < 2) throw UsageError("usage: communicator_ranks SCENARIO [ENGINE]");
    const CommunicatorOptions options{"host:2", count > 2 ? arguments[2] : "auto", 0, 10};
    run(arguments[1], options);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
