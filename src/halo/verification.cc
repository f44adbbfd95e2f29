#include "halo/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/random.h"
#include "halo/host/rows.h"

namespace duet {
namespace {

constexpr double kMostRepeated = 2e7;          // points that the CPU computes again as a whole
constexpr std::int64_t kWindow = 32;           // rows and columns of a window
constexpr std::uint64_t kWindows = 24;         // of a rank, besides the rows at its boundaries
constexpr double kMostOfWindows = 1e10;        // points: some seconds
constexpr std::size_t kPieceBytes = 16 << 20;  // of a field that are read at a time

// Reads a rank's rows, by their numbers in its field (0: the halo above).
class FieldReader {
 public:
  FieldReader(Device& device, const HaloPlan& plan) : device_(device), plan_(plan) {}

  std::vector<float> rows(int parity, std::int64_t first, std::int64_t count) const {
    const FieldShape& shape = plan_.shape();
    std::vector<float> values(static_cast<std::size_t>(shape.nx * count));
    const std::size_t begin = static_cast<std::size_t>(first) * shape.row_bytes();
    device_.read(plan_.field(parity).slice(begin, values.size() * sizeof(float)), values.data());
    return values;
  }

  // Part of a row.
  std::vector<float> points(std::int64_t row, std::int64_t column, std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count));
    const Span whole = row_at(plan_.field(0), plan_.shape(), row);
    device_.read(whole.slice(static_cast<std::size_t>(column) * sizeof(float),
                             values.size() * sizeof(float)),
                 values.data());
    return values;
  }

 private:
  Device& device_;
  const HaloPlan& plan_;
};

// `row` counts the rank's field, `column` the row.
void require_points(const Rank& rank, const float* expected, const float* found, std::int64_t count,
                    std::int64_t row, std::int64_t column) {
  if (std::memcmp(expected, found, static_cast<std::size_t>(count) * sizeof(float)) == 0) return;
  std::int64_t at = 0;
  while (std::memcmp(expected + at, found + at, sizeof(float)) == 0) ++at;
  throw Mismatch(fmt::format(
      "halo on rank {}: expected {:.9g} in row {} of its field (row 0 is the halo above) and "
      "column {}, found {:.9g}",
      rank.index, expected[at], row, column + at, found[at]));
}

void require_sum(const Rank& rank, double expected, double found, int iteration) {
  if (std::fabs(found - expected) <= kNormTolerance * expected) return;
  throw Mismatch(
      fmt::format("halo on rank {}: expected {:.17g} as the sum of the changes of "
                  "iteration {}, found {:.17g}",
                  rank.index, expected, iteration, found));
}

void check_whole(const Rank& rank, const HaloResult& result, std::int64_t first_row) {
  SerialSolver serial(result.grid, result.seed);
  for (int i = 0; i < result.iterations; ++i) {
    const double sum = serial.iterate();
    if (!result.sums.empty()) require_sum(rank, sum, result.sums[static_cast<std::size_t>(i)], i);
  }
  const FieldReader reader(rank.device, result.plan);
  const std::int64_t nx = result.grid.nx, ny = result.grid.ny;
  for (std::int64_t row = 0; row < result.plan.shape().rows + 2; ++row) {
    const std::int64_t global = (first_row + row - 1 + ny) % ny;
    require_points(rank, serial.values().data() + global * nx, reader.rows(0, row, 1).data(), nx,
                   row, 0);
  }
}

// `window` counts rows of the rank's field.
void check_window(const Rank& rank, const HaloResult& result, std::int64_t first_row,
                  const Window& window) {
  Window global = window;
  global.row += first_row - 1;
  const std::vector<float> expected =
      solve_window(result.grid, result.seed, global, result.iterations);
  const FieldReader reader(rank.device, result.plan);
  for (std::int64_t r = 0; r < window.rows; ++r) {
    const std::vector<float> found = reader.points(window.row + r, window.column, window.columns);
    require_points(rank, expected.data() + r * window.columns, found.data(), window.columns,
                   window.row + r, window.column);
  }
}

// Rows of the field after an iteration, from those before it, one more on each side. Returns the
// sum of their changes. `first`: the number of the first row in the rank's field.
long double check_rows(const Rank& rank, const std::vector<float>& before,
                       const std::vector<float>& after, std::int64_t nx, std::int64_t first) {
  const std::int64_t count = static_cast<std::int64_t>(after.size()) / nx;
  std::vector<double> sums(static_cast<std::size_t>(count));
  std::vector<char> right(static_cast<std::size_t>(count));
  const auto expected = [&](std::int64_t r, std::vector<float>& values) {
    const float* const above = before.data() + r * nx;
    sweep_row(above, above + nx, above + 2 * nx, values.data(), nx, Stores::cached);
  };
#pragma omp parallel
  {
    std::vector<float> values(static_cast<std::size_t>(nx));
#pragma omp for schedule(static)
    for (std::int64_t r = 0; r < count; ++r) {
      const float* const found = after.data() + r * nx;
      const auto at = static_cast<std::size_t>(r);
      expected(r, values);
      right[at] = std::memcmp(values.data(), found, values.size() * sizeof(float)) == 0;
      sums[at] = change_of_row(before.data() + (r + 1) * nx, found, nx);
    }
  }
  long double sum = 0;
  std::vector<float> values(static_cast<std::size_t>(nx));
  for (std::int64_t r = 0; r < count; ++r) {
    sum += sums[static_cast<std::size_t>(r)];
    if (right[static_cast<std::size_t>(r)] != 0) continue;
    expected(r, values);
    require_points(rank, values.data(), after.data() + r * nx, nx, first + r, 0);
  }
  return sum;
}

// Every point of the rank's last iteration; returns the sum of its changes.
double check_last_iteration(const Rank& rank, const HaloResult& result) {
  const FieldShape& shape = result.plan.shape();
  const FieldReader reader(rank.device, result.plan);
  const auto most =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kPieceBytes / shape.row_bytes()));
  long double sum = 0;
  for (std::int64_t first = 1; first <= shape.rows; first += most) {
    const std::int64_t count = std::min(most, shape.rows + 1 - first);
    sum += check_rows(rank, reader.rows(1, first - 1, count + 2), reader.rows(0, first, count),
                      shape.nx, first);
  }
  return static_cast<double>(sum);
}

// The sum over the ranks of the grid.
double summed(Rank& rank, const HaloGrid& grid, double own) {
  if (grid.ranks == 1) return own;
  const auto all = rank.team.gather(rank, fmt::format("{:a}", own), "the other ranks' sums");
  double sum = 0;
  for (const std::string& each : *all) sum += std::strtod(each.c_str(), nullptr);
  return sum;
}

double whole_points(const HaloGrid& grid, int iterations) {
  return static_cast<double>(grid.nx) * static_cast<double>(grid.ny) * (iterations + 1);
}

}  // namespace

std::vector<Window> checked_windows(const HaloGrid& grid, std::uint64_t seed, int iterations,
                                    const FieldShape& shape) {
  const std::int64_t rows = std::min(kWindow, shape.rows), columns = std::min(kWindow, shape.nx);
  const auto place = [&](std::uint64_t draw, std::int64_t most) {
    return static_cast<std::int64_t>(random_word(seed, draw) %
                                     static_cast<std::uint64_t>(most + 1));
  };
  std::vector<Window> windows{{0, 2, 0, shape.nx}, {shape.rows, 2, 0, shape.nx}};
  double points = 0;
  for (Window& each : windows) {
    if (2 * points_of(grid, each, iterations) > kMostOfWindows) {
      each.columns = columns;
      each.column = place(2 * kWindows + static_cast<std::uint64_t>(each.row), shape.nx - columns);
    }
    points += points_of(grid, each, iterations);
  }
  for (std::uint64_t i = 0; i < kWindows; ++i) {
    const std::int64_t edges[] = {0, shape.nx - columns};
    const std::int64_t column = i % 3 < 2 ? edges[i % 3] : place(2 * i, shape.nx - columns);
    const Window next{1 + place(2 * i + 1, shape.rows - rows), rows, column, columns};
    points += points_of(grid, next, iterations);
    if (points > kMostOfWindows && i >= 3) break;  // one at each edge, one between
    windows.push_back(next);
  }
  return windows;
}

CheckedPoints checked_points(const HaloGrid& grid, std::uint64_t seed, int iterations) {
  const double whole = whole_points(grid, iterations);
  if (whole <= kMostRepeated) return {whole, true};
  double points = 0;
  const FieldShape largest{grid.nx, rows_of(grid, 0).count};
  for (const Window& each : checked_windows(grid, seed, iterations, largest)) {
    points += points_of(grid, each, iterations);
  }
  return whole <= points ? CheckedPoints{whole, true} : CheckedPoints{points, false};
}

void check_result(Rank& rank, const HaloResult& result) {
  const std::int64_t first_row = rows_of(result.grid, ring_of(rank, result.grid).index).first;
  if (checked_points(result.grid, result.seed, result.iterations).whole) {
    return check_whole(rank, result, first_row);
  }
  for (const Window& each :
       checked_windows(result.grid, result.seed, result.iterations, result.plan.shape())) {
    check_window(rank, result, first_row, each);
  }
  const double sum = summed(rank, result.grid, check_last_iteration(rank, result));
  if (!result.sums.empty()) require_sum(rank, sum, result.sums.back(), result.iterations - 1);
}

}  // namespace duet
