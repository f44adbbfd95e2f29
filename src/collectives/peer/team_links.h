// What the links between a team's ranks are, as all of its processes take them: ranks that chose
// lanes, order or pieces by what each sees of its own links would wait for what nobody sends.
#pragma once

#include "collectives/peer/lanes.h"
#include "team/team.h"

namespace duet {

struct TeamLinks {
  CopyLanes copying;
  bool within_a_node = true;
};

// In order where any process has devices behind one link. Called by all processes, outside of
// Team::each(). Throws Unavailable in all of them where their devices are of different kinds.
TeamLinks team_links(Team& team);

}  // namespace duet
