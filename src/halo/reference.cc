#include "halo/reference.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/random.h"

namespace duet {
namespace {

std::uint64_t place(const HaloGrid& grid, std::int64_t row, std::int64_t column) {
  return static_cast<std::uint64_t>(row * grid.nx + column);
}

// A row of the ring: rows below 0 and after the last one are rows of its other end.
std::int64_t wrapped(const HaloGrid& grid, std::int64_t row) {
  const std::int64_t rest = row % grid.ny;
  return rest < 0 ? rest + grid.ny : rest;
}

constexpr std::int64_t kFewPoints = 1 << 16;  // that one thread computes
constexpr std::int64_t kSummedPoints = 256;   // of a row, in fp64: their error is below 1e-13

// Calls each(row) for the rows [0, count), by several threads if they have many points.
template <typename Each>
void for_rows(std::int64_t count, std::int64_t columns, Each each) {
#pragma omp parallel for schedule(static) if (count * columns > kFewPoints)
  for (std::int64_t row = 0; row < count; ++row) each(row);
}

// The new values of the columns [begin, end), none of which is fixed.
void iterate_row(const float* above, const float* own, const float* below, float* to,
                 std::int64_t begin, std::int64_t end) {
  for (std::int64_t x = begin; x < end; ++x) {
    to[x] = jacobi(own[x - 1], own[x + 1], above[x], below[x]);
  }
}

long double change_of(const float* before, const float* after, std::int64_t nx) {
  long double sum = 0;
  for (std::int64_t first = 0; first < nx; first += kSummedPoints) {
    const std::int64_t end = std::min(nx, first + kSummedPoints);
    double part = 0;
    for (std::int64_t x = first; x < end; ++x) {
      const auto change = static_cast<double>(after[x] - before[x]);
      part += change * change;
    }
    sum += part;
  }
  return sum;
}

// The window with a margin, cut at the fixed columns; of rows at most the whole ring.
Window widened(const HaloGrid& grid, const Window& window, std::int64_t margin) {
  const std::int64_t left = std::max<std::int64_t>(0, window.column - margin);
  const std::int64_t right = std::min(grid.nx, window.column + window.columns + margin);
  const std::int64_t rows = std::min(grid.ny, window.rows + 2 * margin);
  return {window.row - margin, rows, left, right - left};
}

// A part of the grid in memory.
class Part {
 public:
  explicit Part(const Window& area)
      : area_(area), values_(static_cast<std::size_t>(area.rows * area.columns)) {}

  // By its number in the grid, so that its element 0 is the grid's column 0. A part of fewer rows
  // than the ring has all that are asked for; of the whole ring any number is a row.
  float* row(std::int64_t row) {
    const std::int64_t rest = (row - area_.row) % area_.rows;
    const std::int64_t index = rest < 0 ? rest + area_.rows : rest;
    return values_.data() + index * area_.columns - area_.column;
  }

 private:
  Window area_;
  std::vector<float> values_;
};

}  // namespace

Fill initial_rows(const HaloGrid& grid, std::uint64_t seed, std::int64_t first_row) {
  Fill fill;
  fill.kind = FillKind::unit;
  fill.seed = seed;
  fill.offset = place(grid, wrapped(grid, first_row), 0) * sizeof(float);
  return fill;
}

float initial_value(const HaloGrid& grid, std::uint64_t seed, std::int64_t row,
                    std::int64_t column) {
  const std::uint32_t bits = random_unit_bits(seed, place(grid, wrapped(grid, row), column));
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

SerialSolver::SerialSolver(const HaloGrid& grid, std::uint64_t seed) : grid_(grid) {
  check(grid);
  now_.resize(static_cast<std::size_t>(grid.nx * grid.ny));
  for_rows(grid.ny, grid.nx, [&](std::int64_t row) {
    for (std::int64_t column = 0; column < grid.nx; ++column) {
      now_[place(grid, row, column)] = initial_value(grid, seed, row, column);
    }
  });
  next_ = now_;
}

double SerialSolver::iterate() {
  const std::int64_t nx = grid_.nx;
  std::vector<long double> sums(static_cast<std::size_t>(grid_.ny));
  for_rows(grid_.ny, nx, [&](std::int64_t row) {
    const float* const own = now_.data() + row * nx;
    float* const to = next_.data() + row * nx;
    iterate_row(now_.data() + wrapped(grid_, row - 1) * nx, own,
                now_.data() + wrapped(grid_, row + 1) * nx, to, 1, nx - 1);
    sums[static_cast<std::size_t>(row)] = change_of(own, to, nx);
  });
  now_.swap(next_);
  return static_cast<double>(std::accumulate(sums.begin(), sums.end(), 0.0L));
}

std::vector<float> solve_window(const HaloGrid& grid, std::uint64_t seed, const Window& window,
                                int iterations) {
  const Window whole = widened(grid, window, iterations);
  Part now(whole);
  for_rows(whole.rows, whole.columns, [&](std::int64_t r) {
    float* const to = now.row(whole.row + r);
    for (std::int64_t c = whole.column; c < whole.column + whole.columns; ++c) {
      to[c] = initial_value(grid, seed, whole.row + r, c);
    }
  });
  Part next = now;
  for (int margin = iterations - 1; margin >= 0; --margin) {
    const Window needed = widened(grid, window, margin);
    const std::int64_t begin = std::max<std::int64_t>(1, needed.column);
    const std::int64_t end = std::min(grid.nx - 1, needed.column + needed.columns);
    for_rows(needed.rows, needed.columns, [&](std::int64_t r) {
      const std::int64_t row = needed.row + r;
      iterate_row(now.row(row - 1), now.row(row), now.row(row + 1), next.row(row), begin, end);
    });
    std::swap(now, next);
  }
  std::vector<float> values;
  for (std::int64_t r = 0; r < window.rows; ++r) {
    const float* const from = now.row(window.row + r) + window.column;
    values.insert(values.end(), from, from + window.columns);
  }
  return values;
}

double points_of(const HaloGrid& grid, const Window& window, int iterations) {
  double points = 0;
  for (int margin = 0; margin < iterations; ++margin) {
    const Window needed = widened(grid, window, margin);
    points += static_cast<double>(needed.rows) * static_cast<double>(needed.columns);
  }
  return points;
}

}  // namespace duet
