// Whether a rank's part of the grid is what the CPU computes, to the bit.
#pragma once

#include <cstdint>
#include <vector>

#include "halo/engine.h"
#include "halo/reference.h"

namespace duet {

// What a rank has after `iterations` iterations from the initial values of `seed`.
struct HaloResult {
  HaloGrid grid;
  int iterations = 0;
  std::uint64_t seed = 0;
  const HaloPlan& plan;      // field(0) has the last values, field(1) those before
  std::vector<double> sums;  // of (new - old)^2 by iteration; empty: no norm
};

// The largest relative difference of a norm from the CPU's, whose additions have another order.
inline constexpr double kNormTolerance = 1e-12;

// Collective, inside Team::each(). Throws Mismatch that names the rank and the first wrong point.
//
// - Of grids whose iterations the CPU repeats within a part of a second, or sooner than those of
// the
//   windows: every point of the rank's rows and of its halo, and every iteration's sum, against
//   SerialSolver.
// - Of larger ones: windows, against the iterations from the initial values that they depend on;
// and
//   every point of the last iteration, and its sum, against the field before it.
void check_result(Rank& rank, const HaloResult& result);

// The windows of a rank's field, by rows of the field: the rows beside each boundary between ranks
// and the halo rows, and windows at both edges and in the interior. After so many iterations that
// they would take minutes, parts of the rows at the boundaries, and fewer windows.
std::vector<Window> checked_windows(const HaloGrid& grid, std::uint64_t seed, int iterations,
                                    const FieldShape& shape);
// How many points check_result() computes from the initial values, on a rank with as many rows as
// any; of the whole grid, or of windows.
struct CheckedPoints {
  double points = 0;
  bool whole = false;
};
CheckedPoints checked_points(const HaloGrid& grid, std::uint64_t seed, int iterations);

}  // namespace duet
