#include "halo/reference.h"

#include <algorithm>
#include <cstring>

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

// A part of the grid. Its outermost rows, and columns that are not at the grid's edge, become wrong
// by one more with each iteration.
struct Cone {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> now, next;

  float at(std::int64_t row, std::int64_t column) const {
    return now[static_cast<std::size_t>(row * columns + column)];
  }
  void iterate();
};

void Cone::iterate() {
  next = now;
  for (std::int64_t r = 1; r + 1 < rows; ++r) {
    for (std::int64_t c = 1; c + 1 < columns; ++c) {
      next[static_cast<std::size_t>(r * columns + c)] =
          jacobi(at(r, c - 1), at(r, c + 1), at(r - 1, c), at(r + 1, c));
    }
  }
  now.swap(next);
}

// The window with a margin, cut at the fixed columns.
Window widened(const HaloGrid& grid, const Window& window, std::int64_t margin) {
  const std::int64_t left = std::max<std::int64_t>(0, window.column - margin);
  const std::int64_t right = std::min(grid.nx, window.column + window.columns + margin);
  return {window.row - margin, window.rows + 2 * margin, left, right - left};
}

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
  for (std::int64_t row = 0; row < grid.ny; ++row) {
    for (std::int64_t column = 0; column < grid.nx; ++column) {
      now_.push_back(initial_value(grid, seed, row, column));
    }
  }
  next_ = now_;
}

double SerialSolver::iterate() {
  long double sum = 0;  // exact to more digits than any order of fp64 additions
  for (std::int64_t row = 0; row < grid_.ny; ++row) {
    const float* const own = now_.data() + row * grid_.nx;
    const float* const above = now_.data() + wrapped(grid_, row - 1) * grid_.nx;
    const float* const below = now_.data() + wrapped(grid_, row + 1) * grid_.nx;
    float* const to = next_.data() + row * grid_.nx;
    for (std::int64_t x = 1; x + 1 < grid_.nx; ++x) {
      to[x] = jacobi(own[x - 1], own[x + 1], above[x], below[x]);
      const auto change = static_cast<double>(to[x] - own[x]);
      sum += change * change;
    }
  }
  now_.swap(next_);
  return static_cast<double>(sum);
}

std::vector<float> solve_window(const HaloGrid& grid, std::uint64_t seed, const Window& window,
                                int iterations) {
  const Window whole = widened(grid, window, iterations);
  Cone cone;
  cone.rows = whole.rows;
  cone.columns = whole.columns;
  for (std::int64_t r = 0; r < whole.rows; ++r) {
    for (std::int64_t c = 0; c < whole.columns; ++c) {
      cone.now.push_back(initial_value(grid, seed, whole.row + r, whole.column + c));
    }
  }
  for (int i = 0; i < iterations; ++i) cone.iterate();
  std::vector<float> values;
  for (std::int64_t r = 0; r < window.rows; ++r) {
    for (std::int64_t c = 0; c < window.columns; ++c) {
      values.push_back(cone.at(window.row - whole.row + r, window.column - whole.column + c));
    }
  }
  return values;
}

double points_of(const HaloGrid& grid, const Window& window, int iterations) {
  const Window whole = widened(grid, window, iterations);
  return static_cast<double>(whole.rows) * static_cast<double>(whole.columns) *
         std::max(1, iterations);
}

}  // namespace duet
