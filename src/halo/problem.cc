#include "halo/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<NormMode> kNorms[] = {{NormMode::none, "none"},
                                           {NormMode::device, "device"},
                                           {NormMode::host, "host"},
                                           {NormMode::delayed, "delayed"}};
constexpr NamedValue<Scaling> kScalings[] = {
    {Scaling::none, "none"}, {Scaling::strong, "strong"}, {Scaling::weak, "weak"}};

}  // namespace

void check(const HaloGrid& grid) {
  if (grid.nx < kFewestColumns) {
    throw BadArgument(fmt::format("nx {}: expected at least {}, two fixed columns and one between",
                                  grid.nx, kFewestColumns));
  }
  if (grid.ranks < 1 || grid.ny < grid.ranks) {
    throw BadArgument(
        fmt::format("ny {}: expected at least a row for each of {} ranks", grid.ny, grid.ranks));
  }
}

HaloRows rows_of(const HaloGrid& grid, int index) {
  const std::int64_t each = grid.ny / grid.ranks, more = grid.ny % grid.ranks;
  return {index * each + std::min<std::int64_t>(index, more), each + (index < more ? 1 : 0)};
}

std::string_view name(NormMode mode) { return name_of(kNorms, mode); }
NormMode parse_norm(std::string_view text) { return parse_name(kNorms, "unknown norm", text); }
std::vector<NormMode> all_norms() {
  return {NormMode::none, NormMode::device, NormMode::host, NormMode::delayed};
}

std::string_view name(Scaling scaling) { return name_of(kScalings, scaling); }
Scaling parse_scaling(std::string_view text) {
  return parse_name(kScalings, "unknown scaling", text);
}
std::vector<Scaling> all_scalings() { return {Scaling::none, Scaling::strong, Scaling::weak}; }

}  // namespace duet
