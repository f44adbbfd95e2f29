#include "fabric/rail_set.h"

#include <fmt/format.h>

#include "core/error.h"

namespace duet {

void RailSet::refuse(int rail) const {
  throw BadArgument(fmt::format("rail {} is lost", name(rail)));
}

std::vector<int> RailSet::all_living() const {
  std::vector<int> living_ones;
  for (int i = 0; i < size(); ++i) {
    if (living(i)) living_ones.push_back(i);
  }
  return living_ones;
}

std::string rail_name(const RailInfo& rail) {
  return rail.address.empty() ? rail.name : fmt::format("{} ({})", rail.name, rail.address);
}

}  // namespace duet
