// The kernels of sweeps against the serial solver, to the bit. On a CPU that emulates a GPU
// (tests/emulated_gpu), where the kernels of several ranks run one after the other in one stream.
#include "halo/gpu/sweeper.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "device/machine.h"
#include "halo/gpu/kernels.h"
#include "halo/reference.h"

namespace duet {
namespace {

constexpr double kDeadline = 60;  // seconds
constexpr std::uint64_t kSeed = 5;
constexpr std::size_t kSignals = 8, kWords = kSignals + 12;  // of a rank; sums follow the signals
constexpr int kUnits = 2;  // so few that small grids have tiles of many rows

// A ring of ranks on one device, each with its fields and words.
class EmulatedRing {
 public:
  explicit EmulatedRing(const HaloGrid& grid) : grid_(grid) {
    for (int rank = 0; rank < grid.ranks; ++rank) {
      Member member;
      member.shape = {grid.nx, rows_of(grid, rank).count};
      member.fields = device_.allocate(2 * member.shape.bytes());
      member.words = device_.allocate(kWords * sizeof(std::uint64_t));
      members_.push_back(std::move(member));
    }
    for (int rank = 0; rank < grid.ranks; ++rank) set_initial(rank);
  }

  Sweeper& sweeper() { return *sweeper_; }
  Stream& stream() { return *stream_; }
  Device& device() { return device_; }
  const FieldShape& shape(int rank) const { return at(rank).shape; }

  Span field(int rank, int parity) const {
    const Member& member = at(rank);
    return member.fields.slice(static_cast<std::size_t>(parity) * member.shape.bytes(),
                               member.shape.bytes());
  }

  ExchangingSweep exchanging(int rank) const {
    const int above = (rank + grid_.ranks - 1) % grid_.ranks, below = (rank + 1) % grid_.ranks;
    ExchangingSweep sweep;
    sweep.shape = shape(rank);
    for (const int parity : {0, 1}) {
      sweep.field[parity] = field(rank, parity);
      sweep.above[parity] = row_at(field(above, parity), shape(above), shape(above).rows + 1);
      sweep.below[parity] = row_at(field(below, parity), shape(below), 0);
    }
    for (const int parity : {0, 1}) {
      sweep.from_above[parity] = word(rank, 0);
      sweep.from_below[parity] = word(rank, 1);
      sweep.to_above[parity] = word(above, 1);
      sweep.to_below[parity] = word(below, 0);
    }
    // Kernels run one after the other, so each makes the norm of its own rows alone.
    sweep.sums = {words_of_sums(rank)};
    return sweep;
  }

  // Words 4 to 7 are signalled by the rank itself. By side and field, as 0 to 3.
  ExchangingSweep signalling(int rank) const {
    ExchangingSweep sweep;
    sweep.shape = shape(rank);
    for (const std::size_t parity : {0, 1}) {
      sweep.field[parity] = field(rank, static_cast<int>(parity));
      sweep.from_above[parity] = word(rank, parity);
      sweep.from_below[parity] = word(rank, 2 + parity);
      sweep.to_above[parity] = word(rank, 4 + parity);
      sweep.to_below[parity] = word(rank, 6 + parity);
    }
    return sweep;
  }

  // What streams do with the rows of a field when both are signalled.
  void push_rows(int rank, std::size_t parity) {
    const int above = (rank + grid_.ranks - 1) % grid_.ranks, below = (rank + 1) % grid_.ranks;
    const FieldShape& own = shape(rank);
    const Span rows = field(rank, static_cast<int>(parity));
    const auto push = [&](int to, std::int64_t halo, std::int64_t row, std::size_t signalled,
                          std::size_t signals) {
      EXPECT_EQ(value(word(rank, signalled)), 1u);
      set(word(rank, signalled), 0);
      stream_->copy({row_at(field(to, static_cast<int>(parity)), shape(to), halo),
                     row_at(rows, own, row),
                     Executor::dma,
                     {}});
      stream_->synchronize(kDeadline);
      set(word(to, signals), 1);
    };
    push(above, shape(above).rows + 1, 1, 4 + parity, 2 + parity);
    push(below, 0, own.rows, 6 + parity, parity);
  }

  Span word(int rank, std::size_t index) const { return at(rank).words.slice(8 * index, 8); }
  Span words_of_sums(int rank) const {
    return at(rank).words.slice(8 * kSignals, 8 * (kWords - kSignals));
  }

  // When the stream has ended.
  double result(const Buffer& sum) const {
    stream_->synchronize(kDeadline);
    double value = 0;
    device_.read(sum.span(), &value);
    return value;
  }

  void set(const Span& word, std::uint64_t value) const { device_.write(word, &value); }

  std::uint64_t value(const Span& word) const {
    std::uint64_t value = 0;
    device_.read(word, &value);
    return value;
  }

  // Every rank's rows and halo in a field.
  void expect_values(int parity, const SerialSolver& serial) const {
    for (int rank = 0; rank < grid_.ranks; ++rank) {
      const FieldShape& own = shape(rank);
      std::vector<float> values(own.bytes() / sizeof(float));
      device_.read(field(rank, parity), values.data());
      for (std::int64_t row = 0; row < own.rows + 2; ++row) {
        const std::int64_t global = (rows_of(grid_, rank).first + row - 1 + grid_.ny) % grid_.ny;
        ASSERT_EQ(std::memcmp(values.data() + row * own.nx,
                              serial.values().data() + global * own.nx, own.row_bytes()),
                  0)
            << "rank " << rank << ", row " << row << " of " << own.nx << " columns";
      }
    }
  }

 private:
  struct Member {
    FieldShape shape;
    Buffer fields, words;
  };

  const Member& at(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  void set_initial(int rank) {
    const std::uint64_t zeros[kWords] = {};
    device_.write(at(rank).words.span(), zeros);
    const FieldShape& own = shape(rank);
    stream_->fill(field(rank, 1), {FillKind::constant, 0xDB, 0, DType::fp32});
    for (std::int64_t row = 0; row < own.rows + 2; ++row) {
      stream_->fill(row_at(field(rank, 0), own, row),
                    initial_rows(grid_, kSeed, rows_of(grid_, rank).first + row - 1));
    }
    stream_->synchronize(kDeadline);
  }

  HaloGrid grid_;
  std::unique_ptr<Machine> machine_ = open_machine("host:1");
  Device& device_ = machine_->device(0);
  std::unique_ptr<Sweeper> sweeper_ = cuda::make_gpu_sweeper(device_, kUnits);
  std::unique_ptr<Stream> stream_ = device_.make_stream();
  std::vector<Member> members_;
};

// One point that is not fixed, a warp's edge, a block's edge, by one point and by four a thread.
class SweepKernels : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(SweepKernels, SweepPartsLikeTheSerialSolver) {
  const HaloGrid grid{GetParam(), 39, 1};
  EmulatedRing ring(grid);
  SerialSolver serial(grid, kSeed);
  const double expected = serial.iterate();
  const FieldShape& shape = ring.shape(0);
  const BoundaryRows boundary = boundary_of(shape);
  const FieldRows parts[2][2] = {{boundary.first, boundary.last}, {interior_of(shape), {}}};
  std::vector<double> sums;
  double total = 0;
  for (const auto& part : parts) {
    const auto count = ring.sweeper().partials(shape, part[0], part[1]);
    const Buffer partials =
        ring.device().allocate(sizeof(double) * static_cast<std::size_t>(count));
    const Buffer sum = ring.device().allocate(sizeof(double));
    ring.sweeper().sweep(ring.stream(), {shape, ring.field(0, 0), ring.field(0, 1), part[0],
                                         part[1], partials.span()});
    ring.sweeper().sum(ring.stream(), partials.span(), sum.span());
    total += ring.result(sum);
  }
  EXPECT_NEAR(total, expected, 1e-12 * expected);
  const Span halo = row_at(ring.field(0, 1), shape, 0);
  std::vector<std::byte> poison(halo.bytes);
  ring.device().read(halo, poison.data());
  EXPECT_EQ(poison, std::vector<std::byte>(halo.bytes, std::byte{0xDB}));  // not the sweep's
  // The own rows alone: the halo of a ring of one is its own rows.
  ring.stream().copy({row_at(ring.field(0, 1), shape, 0),
                      row_at(ring.field(0, 1), shape, shape.rows),
                      Executor::dma,
                      {}});
  ring.stream().copy({row_at(ring.field(0, 1), shape, shape.rows + 1),
                      row_at(ring.field(0, 1), shape, 1),
                      Executor::dma,
                      {}});
  ring.stream().synchronize(kDeadline);
  ring.expect_values(1, serial);
}

TEST_P(SweepKernels, ExchangeRowsInRingsOfAnySize) {
  for (const int ranks : {1, 2, 3}) {
    const HaloGrid grid{GetParam(), 7, ranks};
    EmulatedRing ring(grid);
    std::vector<std::unique_ptr<SweepKernel>> kernels;
    for (int rank = 0; rank < ranks; ++rank) {
      kernels.push_back(ring.sweeper().exchanging(ring.exchanging(rank)));
    }
    SerialSolver serial(grid, kSeed);
    for (int i = 0; i < 4; ++i) {
      const double expected = serial.iterate();
      double total = 0;
      for (auto& kernel : kernels) {
        const Buffer sum = ring.device().allocate(sizeof(double));
        // A rank alone is its own neighbour, whose rows have arrived when the kernel ends.
        kernel->enqueue(ring.stream(), i % 2, {true, sum.span(), {}},
                        {false, /*closes=*/ranks == 1});
        total += ring.result(sum);
      }
      EXPECT_NEAR(total, expected, 1e-12 * expected) << ranks << " ranks, iteration " << i;
      ring.expect_values(1 - i % 2, serial);
      for (int rank = 0; rank < ranks; ++rank) {
        for (const std::size_t word : {0, 1}) {
          EXPECT_EQ(ring.value(ring.word(rank, word)), static_cast<std::uint64_t>(i + 1));
        }
      }
    }
  }
}

// Two samples, so that the second opens again.
TEST_P(SweepKernels, SignalRowsThatStreamsPush) {
  for (const int ranks : {1, 2, 3}) {
    const HaloGrid grid{GetParam(), ranks == 3 ? 3 : 7, ranks};
    EmulatedRing ring(grid);
    std::vector<std::unique_ptr<SweepKernel>> kernels;
    for (int rank = 0; rank < ranks; ++rank) {
      kernels.push_back(ring.sweeper().exchanging(ring.signalling(rank)));
    }
    SerialSolver serial(grid, kSeed);
    for (int i = 0; i < 6; ++i) {
      serial.iterate();
      for (auto& kernel : kernels) kernel->enqueue(ring.stream(), i % 2, {}, {i % 3 == 0, false});
      ring.stream().synchronize(kDeadline);
      const auto written = static_cast<std::size_t>(1 - i % 2);
      for (int rank = 0; rank < ranks; ++rank) {
        for (const std::size_t word : {0, 1, 2, 3})
          EXPECT_EQ(ring.value(ring.word(rank, word)), 0u);
      }
      for (int rank = 0; rank < ranks; ++rank) ring.push_rows(rank, written);
      ring.expect_values(static_cast<int>(written), serial);
      if (i % 3 != 2) continue;
      for (int rank = 0; rank < ranks; ++rank) {  // as a call that closes
        for (const std::size_t side : {0, 2}) ring.set(ring.word(rank, side + written), 0);
      }
    }
  }
}

// As many blocks that several of them add up.
TEST_P(SweepKernels, MakeNormsOfManyBlocks) {
  const HaloGrid grid{GetParam(), GetParam() > 256 ? 39 : 9000, 1};
  EmulatedRing ring(grid);
  const auto kernel = ring.sweeper().exchanging(ring.exchanging(0));
  const Buffer sums[] = {ring.device().allocate(sizeof(double)),
                         ring.device().allocate(sizeof(double))};
  SerialSolver serial(grid, kSeed);
  // Delayed: the second call, a sample's last, makes both norms.
  kernel->enqueue(ring.stream(), 0, {true, {}, {}}, {false, true});
  kernel->enqueue(ring.stream(), 1, {true, sums[1].span(), sums[0].span()}, {false, true});
  for (const Buffer& sum : sums) {
    const double expected = serial.iterate();
    EXPECT_NEAR(ring.result(sum), expected, 1e-12 * expected);
  }
}

// Rank 1 of three. The other ranks' sums are there already, and so are their rows.
TEST(NormsOfSweeps, AreSumsOfAllRanks) {
  constexpr std::size_t kRanks = 3;
  EmulatedRing ring({37, 8, kRanks});
  ExchangingSweep sweep = ring.exchanging(1);
  sweep.sums = {ring.words_of_sums(0), ring.words_of_sums(1), ring.words_of_sums(2)};
  sweep.rank = 1;
  const auto kernel = ring.sweeper().exchanging(sweep);
  const Buffer total = ring.device().allocate(sizeof(double));
  for (const std::size_t call : {0, 1}) {
    const std::uint64_t number = call + 1;
    const auto half = [&](int at, std::size_t from, std::size_t index) {
      return ring.word(at, kSignals + 2 * (kRanks * call + from) + index);
    };
    const auto put = [&](std::size_t from, double sum) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &sum, sizeof(bits));
      ring.set(half(1, from, 0), number << 32 | (bits & 0xFFFFFFFF));
      ring.set(half(1, from, 1), number << 32 | bits >> 32);
    };
    put(0, 1000);
    put(2, 2000);
    for (const std::size_t word : {0, 1}) ring.set(ring.word(1, word), call);
    kernel->enqueue(ring.stream(), static_cast<int>(call), {true, total.span(), {}}, {});
    const double all = ring.result(total);
    for (int at = 0; at < static_cast<int>(kRanks); ++at) {
      const std::uint64_t words[] = {ring.value(half(at, 1, 0)), ring.value(half(at, 1, 1))};
      const std::uint64_t bits = (words[0] & 0xFFFFFFFF) | words[1] << 32;
      double own = 0;
      std::memcpy(&own, &bits, sizeof(own));
      EXPECT_EQ(words[0] >> 32, number);
      EXPECT_EQ(words[1] >> 32, number);
      EXPECT_GT(own, 0);
      EXPECT_NEAR(all, own + 3000, 1e-12 * all);
    }
  }
}

// A row for each rank: one row is both the first and the last.
TEST_P(SweepKernels, ExchangeTheOnlyRow) {
  const HaloGrid grid{GetParam(), 2, 2};
  EmulatedRing ring(grid);
  const auto first = ring.sweeper().exchanging(ring.exchanging(0));
  const auto second = ring.sweeper().exchanging(ring.exchanging(1));
  SerialSolver serial(grid, kSeed);
  for (int i = 0; i < 3; ++i) {
    serial.iterate();
    first->enqueue(ring.stream(), i % 2, {}, {});
    second->enqueue(ring.stream(), i % 2, {}, {});
    ring.stream().synchronize(kDeadline);
    ring.expect_values(1 - i % 2, serial);
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, SweepKernels,
                         ::testing::Values(3, 4, 31, 33, 128, 132, 300, 1024, 1028));

}  // namespace
}  // namespace duet
