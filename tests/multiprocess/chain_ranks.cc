// One process of a chain of collectives with rows, for chain.sh: chain_ranks SUMS healthy|late|
// killed|stopped STEP. An all_gather gives rows that each rank multiplies (by 1), and a
// reduce_scatter sums their products, twice. Rank 1 sleeps, kills or stops itself when it enqueues
// the STEP-th multiplication, counted from 0; of as many as there are: behind the last one. Rank 0
// prints "steps N". The exit code is 0 if all sums are right, 1 if ranks have failed, which is
// told.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "communicator/communicator.h"
#include "core/error.h"
#include "team/launch.h"

namespace {

using namespace duet;

constexpr double kDeadlineSeconds = 20, kHeartbeatSeconds = 2;
constexpr std::chrono::milliseconds kLate(300);
constexpr std::uint64_t kRows = 5, kColumns = 64;  // of a rank; ranges of unequal size

struct Fault {
  std::string kind;
  int step = 0;
};

RowSums sums_named(const std::string& text) {
  for (const RowSums sums : {RowSums::by_compute, RowSums::in_slots}) {
    if (name(sums) == text) return sums;
  }
  throw UsageError("expected by-compute or in-slots, not " + text);
}

void happen(const std::string& kind) {
  if (kind == "late") std::this_thread::sleep_for(kLate);
  if (kind == "killed") std::raise(SIGKILL);
  if (kind == "stopped") std::raise(SIGSTOP);
}

Collective of(CollectiveKind kind, RowSums sums) {
  Collective one;
  one.kind = kind;
  one.count = kRows * kColumns;
  one.rows.columns = kColumns;
  one.rows.ranges = 2;
  one.rows.sums = sums;
  return one;
}

// What a rank owns until all ranks have ended: others write to it.
struct Memory {
  std::unique_ptr<CollectiveMemory> x, partial, result;
  CollectiveCall gather, scatter;
};

class Chain {
 public:
  Chain(LocalRank& rank, Memory& memory, RowSums sums, const Fault& fault)
      : rank_(rank), memory_(memory), fault_(fault) {
    const std::uint64_t own = kRows * kColumns * 4;
    const auto ranks = static_cast<std::uint64_t>(rank.size());
    memory.x = rank.allocate(own * ranks);
    memory.partial = rank.allocate(own * ranks);
    memory.result = rank.allocate(own);
    own_rows_ = memory.x->span().slice(own * static_cast<std::uint64_t>(rank.index()), own);
    memory.gather = rank.plan(of(CollectiveKind::all_gather, sums), own_rows_, memory.x->span());
    memory.scatter = rank.plan(of(CollectiveKind::reduce_scatter, sums), memory.partial->span(),
                               memory.result->span());
    products_.resize(kRows * kColumns * ranks);
  }

  int steps() const { return steps_; }

  // Throws Mismatch where a sum is wrong.
  void run(float factor) {
    std::vector<float> values(kRows * kColumns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = factor * static_cast<float>(100 * rank_.index() + static_cast<int>(i));
    }
    rank_.device().write(own_rows_, values.data());
    const auto stream = rank_.device().make_stream();
    memory_.gather.enqueue_rows(*stream, [this](Stream& on, const CallRows& rows) {
      multiply(on, rows, [](float& product, float& at, bool) { product = at; });
    });
    memory_.scatter.enqueue_rows(*stream, [this](Stream& on, const CallRows& rows) {
      multiply(on, rows,
               [](float& product, float& at, bool adds) { at = (adds ? at : 0) + product; });
    });
    reach();
    stream->synchronize(kDeadlineSeconds);      // a failure ends the waits,
    rank_.barrier("all ranks to have summed");  // and is told here
    std::vector<float> sums(values.size());
    rank_.device().read(memory_.result->span(), sums.data());
    for (float& value : values) value *= static_cast<float>(rank_.size());
    if (sums != values) throw Mismatch("a wrong sum");
  }

 private:
  // Of every element of the rows: its product, and where the call has it.
  template <typename Each>
  void multiply(Stream& on, const CallRows& rows, Each each) {
    reach();
    ++steps_;
    on.run({"multiply", {}, [this, rows, each] {
              float* const at = reinterpret_cast<float*>(rows.place.data);
              for (std::uint64_t i = 0; i < rows.rows.count * kColumns; ++i) {
                each(products_[rows.rows.first * kColumns + i], at[i], rows.adds);
              }
            }});
  }

  void reach() const {
    if (rank_.index() == 1 && steps_ == fault_.step) happen(fault_.kind);
  }

  LocalRank& rank_;
  Memory& memory_;
  const Fault fault_;
  Span own_rows_;
  std::vector<float> products_;
  int steps_ = 0;
};

void run(RowSums sums, const Fault& fault) {
  CommunicatorOptions options;
  options.device = "host:1";
  options.engine = "dma";
  options.launch = find_launch();
  options.launch->heartbeat_timeout_seconds = kHeartbeatSeconds;
  Communicator communicator(options);
  Memory memory;
  communicator.each([&](LocalRank& rank) {
    Chain chain(rank, memory, sums, fault);
    chain.run(1);
    chain.run(2);
    if (rank.index() == 0) std::printf("steps %d\n", chain.steps());
    rank.retire(std::move(memory.gather));
    rank.retire(std::move(memory.scatter));
  });
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> all(arguments + 1, arguments + count);
  if (all.size() != 3) {
    std::fputs("expected SUMS healthy|late|killed|stopped STEP\n", stderr);
    return 2;
  }
  try {
    run(sums_named(all[0]), {all[1], std::stoi(all[2])});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
