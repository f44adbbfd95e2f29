// For tests of routings: small layers, and ranks of one node and of several.
#pragma once

#include "moe/exchanged_rows.h"

namespace duet {

inline MoeShape shape(std::int64_t tokens, std::int64_t experts, std::int64_t chosen) {
  MoeShape made;
  made.part = "test";
  made.hidden = made.width = 16;
  made.experts = experts;
  made.chosen = chosen;
  made.tokens = tokens;
  return made;
}

inline NodeMap nodes_of(int nodes, int node_size) {
  TeamGroups groups(static_cast<std::size_t>(nodes));
  for (int rank = 0; rank < nodes * node_size; ++rank)
    groups[static_cast<std::size_t>(rank / node_size)].push_back(rank);
  return NodeMap(std::move(groups));
}
inline NodeMap one_node(int ranks) { return nodes_of(1, ranks); }

}  // namespace duet
