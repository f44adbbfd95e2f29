// The sums of a sweep's blocks and of all ranks, with a CPU's thread for each block of each rank.
#include "halo/gpu/norm_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <future>
#include <limits>
#include <thread>
#include <vector>

namespace duet::DUET_GPU {
namespace {

constexpr int kRanks = 3, kCallsOfSample = 4, kCalls = 2 * kCallsOfSample;
constexpr unsigned kSweeping = 7, kGroupBits = 2, kGroups = gpu::groups_of(kSweeping, kGroupBits);
constexpr unsigned kBlocks = kSweeping + kGroups;
constexpr std::chrono::milliseconds kDelay{3};
constexpr std::chrono::seconds kDeadline{60};

using Words = std::vector<std::uint64_t>;

struct RankOfNorm {
  Words packets[2] = {Words(2 * kSweeping), Words(2 * kSweeping)};
  Words groups[2] = {Words(2 * kGroups), Words(2 * kGroups)};
  alignas(16) std::array<std::uint64_t, 2 * 2 * kRanks> sums{};  // by turn and rank
  std::uint64_t calls[2]{};
  std::array<double, kCalls> totals{};
};

// Sums are exact, and both halves of their bits differ from call to call.
double partial(int rank, int call, unsigned block) {
  return 1000003.0 * (1000 * call + 100 * rank + block);
}

class Norms {
 public:
  Norms(bool delayed, int late) : delayed_(delayed), late_(late), ranks_(kRanks) {
    for (RankOfNorm& each : ranks_) there_.push_back(each.sums.data());
  }

  // All ranks at once, but for `gone`, whose words are released then. If one still waits at the
  // deadline, ends all waits.
  void run(int gone = kRanks) {
    std::vector<std::future<void>> ended;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == gone) continue;
      ended.push_back(std::async(std::launch::async, [this, rank] {
        for (int call = 0; call < kCalls; ++call) run_call(rank, call);
      }));
    }
    if (gone < kRanks) {
      std::this_thread::sleep_for(kDelay);
      release_waits();
    }
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    for (std::future<void>& each : ended) {
      if (each.wait_until(deadline) == std::future_status::ready) continue;
      ADD_FAILURE() << "a block waits for a sum";
      end_waits();
    }
  }

  void expect_totals() {
    for (int call = 0; call < kCalls; ++call) {
      double expected = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        for (unsigned block = 0; block < kSweeping; ++block) expected += partial(rank, call, block);
      }
      for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(ranks_[static_cast<std::size_t>(rank)].totals[static_cast<std::size_t>(call)],
                  expected)
            << "rank " << rank << ", call " << call;
      }
    }
  }

 private:
  gpu::SumsOfCall sums_of(RankOfNorm& own, int call, bool made) {
    const int turn = (call + 2) % 2;
    gpu::SumsOfCall sums;
    sums.partials = own.packets[turn].data();
    sums.groups = own.groups[turn].data();
    sums.ranks_begin = 2 * kRanks * turn;
    if (made) sums.total = &own.totals[static_cast<std::size_t>(call)];
    return sums;
  }

  gpu::SweepNorm norm_of(int rank, int call) {
    RankOfNorm& own = ranks_[static_cast<std::size_t>(rank)];
    const bool opens = call % kCallsOfSample == 0;
    const bool closes = call % kCallsOfSample == kCallsOfSample - 1;
    gpu::SweepNorm norm;
    norm.made = true;
    norm.group_bits = kGroupBits;
    norm.partials = kSweeping;
    norm.ranks = kRanks;
    norm.rank = rank;
    norm.there = there_.data();
    norm.calls = &own.calls[call % 2];
    norm.calls_of_next = &own.calls[1 - call % 2];
    norm.own = sums_of(own, call, !delayed_ || closes);
    norm.before = sums_of(own, call - 1, delayed_ && !opens);
    return norm;
  }

  // One kernel. The last block that sweeps is late, and so are those that add up of one rank.
  void run_call(int rank, int call) {
    const gpu::SweepNorm norm = norm_of(rank, call);
    std::deque<std::thread> blocks;
    for (unsigned block = 0; block < kBlocks; ++block) {
      blocks.emplace_back([this, &norm, rank, call, block] {
        blockIdx.x = block;
        gridDim.x = kBlocks;
        if (adds_up(norm, block, kBlocks)) {
          if (rank == late_) std::this_thread::sleep_for(kDelay);
          return add_up_sums(norm, [](double sum) { return sum; });
        }
        const unsigned sweeping = number_of_sweeping(norm, block);
        if (sweeping + 1 == kSweeping) std::this_thread::sleep_for(kDelay);
        store_sum(norm.own.partials, sweeping, partial(rank, call, sweeping), number_of_call(norm));
      });
    }
    for (std::thread& each : blocks) each.join();
  }

  // As the watchdog does.
  void release_waits() {
    for (RankOfNorm& rank : ranks_) {
      for (std::uint64_t& word : rank.sums) {
        store_release(&word, std::numeric_limits<std::int64_t>::max());
      }
    }
  }

  void end_waits() {
    for (int again = 0; again < 2 * kCalls; ++again) {
      release_waits();
      std::this_thread::sleep_for(kDelay);
    }
  }

  bool delayed_;
  int late_;
  std::deque<RankOfNorm> ranks_;
  std::vector<std::uint64_t*> there_;
};

void expect_sums_of_all_ranks(bool delayed) {
  for (int late = 0; late < kRanks; ++late) {
    SCOPED_TRACE(testing::Message() << "rank " << late << " is late");
    Norms norms(delayed, late);
    norms.run();
    norms.expect_totals();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(NormSums, AreOfTheirOwnCall) { expect_sums_of_all_ranks(false); }

TEST(NormSums, AreOfTheCallBeforeWhereDelayed) { expect_sums_of_all_ranks(true); }

TEST(NormSums, DoNotWaitForARankThatIsGone) {
  for (const bool delayed : {false, true}) {
    Norms norms(delayed, 0);
    norms.run(/*gone=*/kRanks - 1);
  }
}

}  // namespace
}  // namespace duet::DUET_GPU
