#include "team/groups.h"

namespace duet {

TeamGroups consecutive_groups(int ranks, int size) {
  TeamGroups groups;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % size == 0) groups.emplace_back();
    groups.back().push_back(rank);
  }
  return groups;
}

TeamGroups strided_groups(int ranks, int count) {
  TeamGroups groups(static_cast<std::size_t>(count));
  for (int rank = 0; rank < ranks; ++rank) {
    groups[static_cast<std::size_t>(rank % count)].push_back(rank);
  }
  return groups;
}

GroupTeams::GroupTeams(Team& team, const std::shared_ptr<const TeamGroups>& groups)
    : places_(static_cast<std::size_t>(team.local_size())) {
  for (std::size_t group = 0; group < groups->size(); ++group) {
    bool is_local = false;
    for (const int rank : (*groups)[group]) {
      if (!team.is_local(rank)) continue;
      if (!is_local) {
        teams_.push_back(std::make_shared<Team>(team, groups, static_cast<int>(group)));
      }
      is_local = true;
      places_[static_cast<std::size_t>(rank - team.first_local())] = teams_.size() - 1;
    }
  }
}

}  // namespace duet
