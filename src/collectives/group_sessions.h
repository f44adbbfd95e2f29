// Sessions of an engine for the groups into which a team's ranks are divided.
#pragma once

#include <memory>
#include <vector>

#include "collectives/engine.h"
#include "team/groups.h"

namespace duet {

// All groups make the same calls in the same order, each on its own data: a barrier of one is a
// barrier of all (Team).
class GroupSessions {
 public:
  // Groups of equal size. Collective among processes; called outside of Team::each(). The team must
  // outlive this. Throws Unavailable where the engine cannot run on them.
  GroupSessions(Team& team, TeamGroups groups, CollectiveEngine& engine);

  // A rank of the team as one of its group's, and that group's session.
  Rank rank(const Rank& of_team) const { return teams_.of(of_team); }
  const std::shared_ptr<CollectiveSession>& session(const Rank& of_team) const {
    return sessions_.at(teams_.place(of_team));
  }
  // The teams of the groups with local ranks in the order of groups, the place of a rank's among
  // them, and the session of the team in a place.
  const std::vector<std::shared_ptr<Team>>& teams() const { return teams_.teams(); }
  std::size_t place(const Rank& of_team) const { return teams_.place(of_team); }
  CollectiveSession& at(std::size_t place) const { return *sessions_.at(place); }
  // Whether all sessions are (CollectiveSession::usable()).
  bool usable() const;

 private:
  GroupTeams teams_;
  std::vector<std::shared_ptr<CollectiveSession>> sessions_;  // of the teams with local ranks
};

}  // namespace duet
