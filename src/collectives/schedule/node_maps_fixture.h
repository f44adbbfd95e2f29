// For tests: maps of equal nodes.
#pragma once

#include "collectives/schedule/schedule.h"
#include "team/nodes.h"

namespace duet {

// Consecutive ranks are a node, or ranks are dealt out to the nodes in turns.
inline NodeMap map_of(int nodes, int node_size, bool dealt_out = false) {
  TeamGroups groups(index_of(nodes));
  for (int rank = 0; rank < nodes * node_size; ++rank) {
    groups[index_of(dealt_out ? rank % nodes : rank / node_size)].push_back(rank);
  }
  return NodeMap(std::move(groups));
}

}  // namespace duet
