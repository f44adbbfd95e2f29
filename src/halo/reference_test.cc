#include "halo/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "halo/host/rows.h"
#include "halo/verification.h"

namespace duet {
namespace {

TEST(HaloProblem, RowsAreDividedWithoutRest) {
  for (const int ranks : {1, 2, 3, 7}) {
    const HaloGrid grid{8, 23, ranks};
    std::int64_t next = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const HaloRows rows = rows_of(grid, rank);
      EXPECT_EQ(rows.first, next);
      EXPECT_GE(rows.count, 23 / ranks);
      EXPECT_LE(rows.count, 23 / ranks + 1);
      next += rows.count;
    }
    EXPECT_EQ(next, 23);
  }
}

TEST(HaloProblem, GridsThatCannotBeDividedAreRefused) {
  EXPECT_THROW(check(HaloGrid{2, 8, 1}), BadArgument);
  EXPECT_THROW(check(HaloGrid{8, 3, 4}), BadArgument);
  EXPECT_NO_THROW(check(HaloGrid{3, 4, 4}));
}

TEST(HaloReference, ValuesStayInOneToTwoAndEdgesAreFixed) {
  const HaloGrid grid{9, 6, 1};
  SerialSolver serial(grid, 4);
  const std::vector<float> first = serial.values();
  double before = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double sum = serial.iterate();
    EXPECT_LT(sum, before);  // it converges
    before = sum;
  }
  for (std::int64_t row = 0; row < grid.ny; ++row) {
    for (const std::int64_t column : {std::int64_t{0}, grid.nx - 1}) {
      const auto at = static_cast<std::size_t>(row * grid.nx + column);
      EXPECT_EQ(serial.values()[at], first[at]);
    }
  }
  for (const float value : serial.values()) {
    EXPECT_GE(value, 1.0f);
    EXPECT_LT(value, 2.0f);
  }
}

// A window computes its cone of values alone; the serial solver all of them.
TEST(HaloReference, WindowsAreTheSerialSolversAtEveryEdge) {
  const HaloGrid grid{21, 17, 1};
  constexpr int kIterations = 6;
  SerialSolver serial(grid, 9);
  for (int i = 0; i < kIterations; ++i) serial.iterate();
  const Window windows[] = {{0, 17, 0, 21}, {-3, 5, 0, 4},  {15, 6, 17, 4},
                            {8, 1, 10, 1},  {16, 2, 0, 21}, {2, 5, 1, 19}};
  for (const Window& w : windows) {
    const std::vector<float> values = solve_window(grid, 9, w, kIterations);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(w.rows * w.columns));
    for (std::int64_t r = 0; r < w.rows; ++r) {
      for (std::int64_t c = 0; c < w.columns; ++c) {
        const std::int64_t row = (w.row + r + grid.ny) % grid.ny;
        EXPECT_EQ(values[static_cast<std::size_t>(r * w.columns + c)],
                  serial.values()[static_cast<std::size_t>(row * grid.nx + w.column + c)])
            << "row " << row << " column " << w.column + c;
      }
    }
  }
}

// The ring is computed once, however far a window widens.
TEST(HaloReference, WindowsAreNoLargerThanTheGrid) {
  for (const HaloGrid& grid : {HaloGrid{145, 145, 2}, HaloGrid{4000, 2, 2}, HaloGrid{3, 900, 1}}) {
    constexpr int kIterations = 1000;
    const double all = static_cast<double>(grid.nx * grid.ny) * kIterations;
    EXPECT_LE(points_of(grid, {0, 2, 0, grid.nx}, kIterations), all);
    EXPECT_LT(points_of(grid, {1, 1, 0, 2}, kIterations), all);
  }
  EXPECT_EQ(points_of({100, 100, 1}, {50, 1, 50, 1}, 2), 1 + 9);
  EXPECT_EQ(points_of({100, 100, 1}, {50, 1, 0, 1}, 2), 1 + 6);
}

// Of any grid and number of iterations that `duet halo` takes.
TEST(HaloVerification, ComputesAtMostTheWholeGridAndNeverForMinutes) {
  constexpr std::uint64_t kSeed = 3;
  for (const std::int64_t nx : {3, 140, 145, 2048, 16384, 20480, 16777215}) {
    for (const std::int64_t ny : {2, 145, 2100, 16384, 20480}) {
      for (const int iterations : {2, 10, 100, 1000}) {
        const HaloGrid grid{nx, ny, 2};
        const CheckedPoints checked = checked_points(grid, kSeed, iterations);
        const double whole = static_cast<double>(nx * ny) * (iterations + 1);
        EXPECT_LE(checked.points, whole) << nx << " x " << ny;
        EXPECT_TRUE(checked.whole || checked.points <= 1e10) << nx << " x " << ny;
      }
    }
  }
  EXPECT_TRUE(checked_points({145, 145, 2}, kSeed, 1000).whole);
  EXPECT_TRUE(checked_points({16777215, 2, 2}, kSeed, 10).whole);
  EXPECT_FALSE(checked_points({16384, 16384, 2}, kSeed, 1000).whole);
}

// By vectors and past the caches, from any alignment, to the bit.
TEST(HaloRows, AreTheSameThroughCachesAndPastThem) {
  for (std::int64_t nx = 3; nx < 70; ++nx) {
    for (std::size_t shift = 0; shift < 16; shift += 3) {
      const auto count = static_cast<std::size_t>(nx);
      std::vector<float> from(3 * count), cached(count), memory(count + 32, -1.0f);
      for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = initial_value({nx, 3, 1}, 7, 0, static_cast<std::int64_t>(i));
      }
      const float* const above = from.data();
      sweep_row(above, above + nx, above + 2 * nx, cached.data(), nx, Stores::cached);
      float* const past = memory.data() + 1 + shift;
      sweep_row(above, above + nx, above + 2 * nx, past, nx, Stores::past_caches);
      EXPECT_EQ(std::vector<float>(past, past + nx), cached) << nx;
      EXPECT_EQ(past[-1], -1.0f);
      EXPECT_EQ(past[nx], -1.0f);
      std::fill(memory.begin(), memory.end(), -1.0f);
      copy_row_past_caches(cached.data(), past, nx);
      EXPECT_EQ(std::vector<float>(past, past + nx), cached) << nx;
      EXPECT_EQ(past[-1], -1.0f);
      EXPECT_EQ(past[nx], -1.0f);
    }
  }
}

TEST(HaloRows, ChangesAreSummedToTwelveDigits) {
  constexpr std::int64_t kNx = 1003;
  SerialSolver serial({kNx, 1, 1}, 3);
  const std::vector<float> before = serial.values();
  const double sum = serial.iterate();
  EXPECT_NEAR(change_of_row(before.data(), serial.values().data(), kNx), sum, 1e-12 * sum);
}

}  // namespace
}  // namespace duet
