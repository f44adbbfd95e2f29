#include "collectives/group_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace duet {
namespace {

// Processes open the sessions of their groups side by side.
void require_as_many_in_all(Team& team, std::size_t groups) {
  const std::string mine = std::to_string(groups);
  const std::vector<std::string> all = team.texts_of_ranks(
      std::vector<std::string>(static_cast<std::size_t>(team.local_size()), mine),
      "all processes to count their groups");
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    throw Unavailable(
        fmt::format("groups of ranks: expected ranks of as many groups in each process: that of "
                    "rank 0 has {}, that of rank {} has {}",
                    all.front(), rank, all[rank]));
  }
}

}  // namespace

GroupSessions::GroupSessions(Team& team, TeamGroups groups, CollectiveEngine& engine)
    : teams_(team, std::make_shared<const TeamGroups>(std::move(groups))) {
  if (!engine.opens_for_groups()) {
    throw Unavailable(
        fmt::format("{}: runs on all ranks of a run, not on groups of them: expected "
                    "auto, dma, kernel, or NCCL's or RCCL's engines",
                    engine.name()));
  }
  require_as_many_in_all(team, teams_.teams().size());
  for (const auto& each : teams_.teams()) sessions_.push_back(engine.open(*each));
}

bool GroupSessions::usable() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& each) { return each->usable(); });
}

}  // namespace duet
