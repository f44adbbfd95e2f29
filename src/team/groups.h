// The division of a team's ranks into groups, each of which is a child team.
#pragma once

#include <memory>
#include <vector>

#include "team/team.h"

namespace duet {

// So many consecutive ranks are a group; the last one may have fewer.
TeamGroups consecutive_groups(int ranks, int size);
// As many groups; ranks whose numbers differ by a multiple of that are in one.
TeamGroups strided_groups(int ranks, int count);

// The child teams of this process's ranks. The team must outlive them.
class GroupTeams {
 public:
  GroupTeams(Team& team, const std::shared_ptr<const TeamGroups>& groups);

  // The rank in its group's team.
  Rank of(const Rank& rank) const { return team(rank).child_rank(rank); }
  // Those of the groups with local ranks, in the order of groups.
  const std::vector<std::shared_ptr<Team>>& teams() const { return teams_; }
  // The place of a rank's team among them.
  std::size_t place(const Rank& rank) const {
    return places_.at(static_cast<std::size_t>(rank.local));
  }

 private:
  Team& team(const Rank& rank) const { return *teams_.at(place(rank)); }

  std::vector<std::shared_ptr<Team>> teams_;
  std::vector<std::size_t> places_;  // by local rank
};

}  // namespace duet
