// The links between a team's ranks, as all of its processes agree on them. SideStreams, order and
// pieces follow from them and shape the protocol: ranks that chose by their own links alone would
// wait for signals that never come.
#pragma once

#include "collectives/session/lanes.h"
#include "team/team.h"

namespace duet {

struct TeamLinks {
  CopyLanes copying;
};

// Of links within nodes; `node_size` ranks have lanes between each other. In order where any
// process has devices behind one link. Called by all processes, outside of Team::each(). Throws
// Unavailable in all of them where their devices are of different kinds.
TeamLinks team_links(Team& team, int node_size);

}  // namespace duet
