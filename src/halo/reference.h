// What every engine must reach to the bit: the grid's initial values, and their iterations by the
// CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "device/stream.h"
#include "halo/problem.h"

namespace duet {

// Rows of a grid's initial values: random, in [1, 2), the fixed columns too. By the maximum
// principle all later values stay there: none is denormal, and every bit of one counts.
Fill initial_rows(const HaloGrid& grid, std::uint64_t seed, std::int64_t first_row);
float initial_value(const HaloGrid& grid, std::uint64_t seed, std::int64_t row,
                    std::int64_t column);

// One new value of a point.
inline float jacobi(float left, float right, float above, float below) {
  return 0.25f * (((left + right) + above) + below);
}

// The whole grid.
class SerialSolver {
 public:
  SerialSolver(const HaloGrid& grid, std::uint64_t seed);

  // Returns the iteration's sum of (new - old)^2 in fp64.
  double iterate();
  const std::vector<float>& values() const { return now_; }  // by row

 private:
  HaloGrid grid_;
  std::vector<float> now_, next_;
};

// Rows [row, row + rows), which continue with the first row after the last, and columns [column,
// column + columns).
struct Window {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// The values in a window after some iterations. Computes what they depend on alone: in each
// iteration as many rows and columns more on each side as iterations follow, no row twice.
std::vector<float> solve_window(const HaloGrid& grid, std::uint64_t seed, const Window& window,
                                int iterations);

// How many points solve_window() computes, all iterations together.
double points_of(const HaloGrid& grid, const Window& window, int iterations);

}  // namespace duet
