// The division of a team's ranks into nodes, and into columns (ranks with the same local index).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "team/groups.h"
#include "team/team.h"

namespace duet {

// A node is a set of ranks that can map each other's memory: processes of one operating system and
// container, or the devices of a simulated machine's node. Ranks of a node need not be consecutive.
// Nodes are numbered in the order of their lowest ranks. A rank's local index is its position among
// the ranks of its node, in rising order; the ranks with equal local index are a column.
class NodeMap {
 public:
  // Collective among processes; called outside of Team::each(). With Team::node_size() this many
  // consecutive ranks are a node, whether or not they can map each other's memory. A child team has
  // the ranks of a node together that the whole team has.
  static NodeMap of(Team& team);
  // `nodes` are the ranks of each node, in rising order.
  explicit NodeMap(TeamGroups nodes);

  int size() const { return static_cast<int>(place_.size()); }  // ranks
  int nodes() const { return static_cast<int>(nodes_->size()); }
  // Ranks of every node. Throws Unavailable with not_uniform().
  int node_size() const;
  // Why nodes differ in their number of ranks: "node 0 has 2 ranks and node 1 has 1 ..."; "" if
  // they do not.
  std::string not_uniform() const;

  int node(int rank) const { return place_.at(at(rank)).node; }
  int local(int rank) const { return place_.at(at(rank)).local; }
  int rank(int node, int local) const { return nodes_->at(at(node)).at(at(local)); }

  // For child teams: the ranks of each node; and of each column, where nodes are uniform.
  const std::shared_ptr<const TeamGroups>& by_node() const { return nodes_; }
  const std::shared_ptr<const TeamGroups>& by_column() const { return columns_; }

 private:
  struct Place {
    int node = 0, local = 0;
  };
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }

  std::shared_ptr<const TeamGroups> nodes_, columns_;
  std::vector<Place> place_;  // by rank
};

// A rank's place among the nodes of a uniform map, which must outlive it.
struct NodePlace {
  NodePlace(const NodeMap& nodes, int rank)
      : map(nodes), node(nodes.node(rank)), local(nodes.local(rank)) {}

  int nodes() const { return map.nodes(); }
  int node_size() const { return map.node_size(); }
  // The node `step` behind this one, and the one `step` before it.
  int node_after(int step) const { return (node + step) % nodes(); }
  int node_before(int step) const { return (node + nodes() - step) % nodes(); }

  const NodeMap& map;
  int node, local;
};

// Whether all ranks can map each other's memory, though they may count as several nodes: those of
// one process, as on simulated machines, and processes of one place with Team::node_size().
// Collective among processes.
bool all_mapped(Team& team);

// The child teams of this process's ranks. The team must outlive them.
class NodeTeams {
 public:
  // The map is of the team, and uniform.
  NodeTeams(Team& team, const NodeMap& map)
      : nodes_(team, map.by_node()), columns_(team, map.by_column()) {}

  // The rank's child team of its node (ranks by local index), and of its column (ranks by node).
  Rank in_node(const Rank& rank) const { return nodes_.of(rank); }
  Rank in_column(const Rank& rank) const { return columns_.of(rank); }

 private:
  GroupTeams nodes_, columns_;
};

}  // namespace duet
