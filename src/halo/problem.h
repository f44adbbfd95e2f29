// What is solved: Jacobi iterations of a 5-point stencil on a grid whose rows are divided over
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace duet {

// A grid of ny rows of nx fp32 points. Its first and last column are fixed; above the first row
// comes the last one, and below the last the first, so that the ranks are a ring:
//
//   rank 0        rows [0, a)      halo above: the last row of rank p - 1
//   rank 1        rows [a, b)      halo above: the last row of rank 0, below: the first of rank 2
//   ...
//   rank p - 1    rows [z, ny)     halo below: the first row of rank 0
//
// An iteration makes each point that is not fixed 0.25 * (((left + right) + above) + below) of the
// iteration before. This order of additions has no product to contract with, so all devices agree
// to the bit.
struct HaloGrid {
  std::int64_t nx = 0, ny = 0;
  int ranks = 1;
};

// The columns that an iteration needs at least: two that are fixed and one between them.
inline constexpr std::int64_t kFewestColumns = 3;

// Throws BadArgument for a grid of fewer than kFewestColumns columns or fewer rows than ranks.
void check(const HaloGrid& grid);

// A rank's rows. Ranks differ by at most one row; the first ones have more.
struct HaloRows {
  std::int64_t first = 0, count = 0;
};
HaloRows rows_of(const HaloGrid& grid, int index);

inline std::size_t row_bytes(const HaloGrid& grid) {
  return static_cast<std::size_t>(grid.nx) * sizeof(float);
}

// When the sum over all points of (new - old)^2, whose root is the norm, is known:
//   none      it is not computed
//   device    every rank's device has the iteration's sum before its next iteration begins
//   host      the host has read it before it enqueues the next iteration
//   delayed   the sum over the ranks is made beside the next iteration
enum class NormMode { none, device, host, delayed };
std::string_view name(NormMode mode);
NormMode parse_norm(std::string_view text);  // throws UsageError
std::vector<NormMode> all_norms();

// none: all ranks alone. strong: a grid of ny rows for every number of ranks. weak: ny rows a rank.
enum class Scaling { none, strong, weak };
std::string_view name(Scaling scaling);
Scaling parse_scaling(std::string_view text);  // throws UsageError
std::vector<Scaling> all_scalings();

}  // namespace duet
