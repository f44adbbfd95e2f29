// The waits and signals between the sweeps of neighbours, with a CPU's thread for each block of
// each rank.
#include "halo/gpu/row_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "halo/reference.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kRanks = 3, kSamples = 2, kCallsOfSample = 6, kIterations = kSamples * kCallsOfSample;
constexpr unsigned kColumns = 2;  // one for each block of a row
constexpr std::chrono::milliseconds kDelay{4};
constexpr std::chrono::seconds kDeadline{60};

using Field = std::vector<float>;  // by row, the halo above first

float next_value(float above, float own, float below) { return jacobi(own, own, above, below); }

enum class Rows { stored, copied };

struct RankOfRing {
  Field fields[2];
  std::uint64_t words[2]{}, calls = 0;  // stored: words of the neighbours above and below
  // Copied, by side (above, below) and field: arrived from there, ready for there.
  std::uint64_t arrived[2][2]{}, ready[2][2]{};
  std::array<unsigned, 3> finished{};
  Field after_last;  // the field that the last call has made, read when the call ended
};

class Ring {
 public:
  // `rows` of each rank. The first column of `late` is computed late, and its rows are copied late.
  Ring(Rows exchange, int rows, int late)
      : exchange_(exchange), rows_(rows), late_(late), ranks_(kRanks) {
    for (int i = 0; i < kRanks; ++i) {
      RankOfRing& own = at(i);
      own.fields[1].assign(static_cast<std::size_t>(rows + 2) * kColumns, -1);
      for (int row = 0; row < rows + 2; ++row) {
        for (unsigned x = 0; x < kColumns; ++x) {
          own.fields[0].push_back(initial(i * rows + row - 1, x));
        }
      }
    }
  }

  // All ranks at once. If one still waits at the deadline, ends all waits.
  void iterate() {
    std::vector<std::future<void>> ended;
    const auto begin = [&ended](auto work) {
      ended.push_back(std::async(std::launch::async, std::move(work)));
    };
    for (int i = 0; i < kRanks; ++i) {
      begin([this, i] {
        for (int call = 0; call < kIterations; ++call) {
          run_call(i, call);
          if (exchange_ == Rows::copied && is_last_of_sample(call)) close_sample(i, 1 - call % 2);
        }
        at(i).after_last = at(i).fields[kIterations % 2];
      });
      for (int side = 0; exchange_ == Rows::copied && side < 2; ++side) {
        begin([this, i, side] {
          for (int call = 0; call < kIterations; ++call) copy_row(i, side, 1 - call % 2);
        });
      }
    }
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    for (std::future<void>& each : ended) {
      if (each.wait_until(deadline) == std::future_status::ready) continue;
      ADD_FAILURE() << "a rank waits for a neighbour's signal, or a copy for its rank's";
      end_waits();
    }
  }

  void expect_values() {
    const int all = kRanks * rows_;
    Field expected;
    for (int row = 0; row < all; ++row) {
      for (unsigned x = 0; x < kColumns; ++x) expected.push_back(initial(row, x));
    }
    const auto place = [&](int row, unsigned x) {
      return static_cast<std::size_t>((row + all) % all) * kColumns + x;
    };
    for (int call = 0; call < kIterations; ++call) {
      const Field before = expected;
      for (int row = 0; row < all; ++row) {
        for (unsigned x = 0; x < kColumns; ++x) {
          expected[place(row, x)] = next_value(before[place(row - 1, x)], before[place(row, x)],
                                               before[place(row + 1, x)]);
        }
      }
    }
    for (int i = 0; i < kRanks; ++i) {
      for (const auto* words : {at(i).arrived, at(i).ready}) {  // for the next sample
        for (const int side : {0, 1}) {
          for (const int parity : {0, 1}) EXPECT_EQ(words[side][parity], 0u) << "rank " << i;
        }
      }
      for (int row = 0; row < rows_ + 2; ++row) {
        for (unsigned x = 0; x < kColumns; ++x) {
          EXPECT_EQ(at(i).after_last[static_cast<std::size_t>(row) * kColumns + x],
                    expected[place(i * rows_ + row - 1, x)])
              << "rank " << i << ", row " << row << ", column " << x;
        }
      }
    }
  }

 private:
  RankOfRing& at(int rank) { return ranks_[static_cast<std::size_t>((rank + kRanks) % kRanks)]; }

  float initial(int row, unsigned x) const {
    const int all = kRanks * rows_;
    return 1 + static_cast<float>((row + all) % all) + 100 * static_cast<float>(x);
  }

  float* row_of(int rank, int parity, int row) {
    return at(rank).fields[parity].data() + static_cast<std::size_t>(row) * kColumns;
  }

  // Of waits that have begun; calls that follow set semaphores back.
  void end_waits() {
    for (int again = 0; again < 2 * kIterations; ++again) {
      for (RankOfRing& rank : ranks_) {
        for (auto* words :
             {rank.words, rank.arrived[0], rank.arrived[1], rank.ready[0], rank.ready[1]}) {
          for (int word = 0; word < 2; ++word) {
            store_release(&words[word], std::numeric_limits<std::int64_t>::max());
          }
        }
      }
      std::this_thread::sleep_for(kDelay);
    }
  }

  gpu::SweepExchange exchange_of(int i, int call) {
    const int read = call % 2, written = 1 - read;
    RankOfRing& own = at(i);
    gpu::SweepExchange e;
    e.rows = rows_;
    e.calls = &own.calls;
    e.finished = own.finished.data();
    e.opens = call % kCallsOfSample == 0;
    e.closes = exchange_ == Rows::stored && is_last_of_sample(call);
    if (exchange_ == Rows::copied) {
      e.from_above = &own.arrived[0][read];
      e.from_below = &own.arrived[1][read];
      e.to_above = &own.ready[0][written];
      e.to_below = &own.ready[1][written];
      return e;
    }
    e.halo_above = row_of(i - 1, written, rows_ + 1);
    e.halo_below = row_of(i + 1, written, 0);
    e.from_above = &own.words[0];
    e.from_below = &own.words[1];
    e.to_above = &at(i - 1).words[1];
    e.to_below = &at(i + 1).words[0];
    return e;
  }

  static bool is_last_of_sample(int call) { return call % kCallsOfSample == kCallsOfSample - 1; }

  // What the caller's stream does behind a sample's last kernel.
  void close_sample(int i, int written) {
    for (auto& side : at(i).arrived) {
      await_word(&side[written], 1);
      store_release(&side[written], 0);
    }
  }

  // What a stream does for a side: above is 0, below is 1.
  void copy_row(int i, int side, int parity) {
    std::uint64_t* const ready = &at(i).ready[side][parity];
    await_word(ready, 1);
    store_release(ready, 0);
    if (i == late_) std::this_thread::sleep_for(kDelay);
    const int to = side == 0 ? i - 1 : i + 1;
    const float* const row = row_of(i, parity, side == 0 ? 1 : rows_);
    std::copy_n(row, kColumns, row_of(to, parity, side == 0 ? rows_ + 1 : 0));
    store_release(&at(to).arrived[1 - side][parity], 1);
  }

  float computed(int i, int parity, int row, unsigned x) {
    return next_value(row_of(i, parity, row - 1)[x], row_of(i, parity, row)[x],
                      row_of(i, parity, row + 1)[x]);
  }

  // One kernel: the blocks of the boundary rows, and one for the rows between.
  void run_call(int i, int call) {
    const gpu::SweepExchange e = exchange_of(i, call);
    const int parity = call % 2;
    std::deque<std::thread> blocks;
    for (unsigned block = 0; block < (rows_ == 1 ? 1 : 2) * kColumns; ++block) {
      blocks.emplace_back([this, &e, i, parity, block] {
        exchange_part(e, kColumns, block, [&](bool first, bool last) {
          const int row = first ? 1 : rows_;
          const unsigned x = block % kColumns;
          if (i == late_ && x == 0) std::this_thread::sleep_for(kDelay);
          const float value = computed(i, parity, row, x);
          row_of(i, 1 - parity, row)[x] = value;
          if (by_copies(e)) return;
          if (first) e.halo_above[x] = value;
          if (last) e.halo_below[x] = value;
        });
      });
    }
    for (int row = 2; row < rows_; ++row) {
      for (unsigned x = 0; x < kColumns; ++x) {
        row_of(i, 1 - parity, row)[x] = computed(i, parity, row, x);
      }
    }
    for (std::thread& each : blocks) each.join();
  }

  Rows exchange_;
  int rows_, late_;
  std::deque<RankOfRing> ranks_;
};

void expect_rows_of_neighbours(Rows exchange) {
  for (const int rows : {1, 2, 4}) {
    for (int late = 0; late < kRanks; ++late) {
      SCOPED_TRACE(testing::Message() << rows << " rows a rank, rank " << late << " is late");
      Ring ring(exchange, rows, late);
      ring.iterate();
      ring.expect_values();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(RowExchange, SweepsReadWhatTheirNeighboursHaveStored) {
  expect_rows_of_neighbours(Rows::stored);
}

TEST(RowExchange, SweepsReadWhatStreamsHaveCopied) { expect_rows_of_neighbours(Rows::copied); }

}  // namespace
}  // namespace duet::DUET_GPU
