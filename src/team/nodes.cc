#include "team/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/deadline.h"
#include "core/error.h"
#include "core/packing.h"
#include "device/memory_descriptor.h"

namespace duet {
namespace {

// For each local rank a text that is equal for ranks of one node alone.
std::vector<std::string> own_nodes(Team& team) {
  const std::string place = this_place();
  std::vector<std::string> names;
  std::vector<int> firsts;  // the first local rank of each node
  for (int local = 0; local < team.local_size(); ++local) {
    const int device = team.device_index(team.first_local() + local);
    std::size_t node = 0;
    const auto beyond = [&](int first) {
      const int other = team.device_index(team.first_local() + first);
      return other != device && team.machine().link(other, device).beyond_node;
    };
    while (node < firsts.size() && beyond(firsts[node])) ++node;
    if (node == firsts.size()) firsts.push_back(local);
    names.push_back(fmt::format("{} {}", place, node));
  }
  return names;
}

std::vector<std::string> all_nodes(Team& team) {
  const std::vector<std::string> own = own_nodes(team);
  if (team.processes() == nullptr) return own;
  std::vector<std::string> all;
  for (const std::string& process : team.processes()->gather_all(
           pack(own), "all processes to send their nodes", kDefaultDeadlineSeconds)) {
    for (std::string& each : unpack(process)) all.push_back(std::move(each));
  }
  return all;
}

TeamGroups equal_texts(const std::vector<std::string>& texts) {
  TeamGroups groups;
  std::map<std::string, std::size_t> known;
  for (const std::string& text : texts) {
    const auto [found, added] = known.emplace(text, groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(static_cast<int>(&text - texts.data()));
  }
  return groups;
}

TeamGroups consecutive(int ranks, int size) {
  TeamGroups groups;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % size == 0) groups.emplace_back();
    groups.back().push_back(rank);
  }
  return groups;
}

}  // namespace

NodeMap NodeMap::of(Team& team) {
  if (team.node_size() > 0) return NodeMap(consecutive(team.size(), team.node_size()));
  return NodeMap(equal_texts(all_nodes(team)));
}

NodeMap::NodeMap(TeamGroups nodes) {
  std::size_t ranks = 0;
  for (const std::vector<int>& node : nodes) ranks += node.size();
  place_.resize(ranks);
  TeamGroups columns;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t local = 0; local < nodes[node].size(); ++local) {
      place_.at(at(nodes[node][local])) = {static_cast<int>(node), static_cast<int>(local)};
      if (local == columns.size()) columns.emplace_back();
      columns[local].push_back(nodes[node][local]);
    }
  }
  nodes_ = std::make_shared<const TeamGroups>(std::move(nodes));
  columns_ = std::make_shared<const TeamGroups>(std::move(columns));
}

int NodeMap::node_size() const {
  const std::string reason = not_uniform();
  if (!reason.empty()) throw Unavailable(reason);
  return static_cast<int>(nodes_->front().size());
}

std::string NodeMap::not_uniform() const {
  const std::size_t first = nodes_->front().size();
  for (std::size_t node = 1; node < nodes_->size(); ++node) {
    const std::size_t size = (*nodes_)[node].size();
    if (size == first) continue;
    return fmt::format("node 0 has {} ranks and node {} has {}: expected as many on each", first,
                       node, size);
  }
  return "";
}

bool all_mapped(Team& team) {
  if (team.processes() == nullptr) return true;
  const auto places = team.processes()->gather_all(
      this_place(), "all processes to send where they run", kDefaultDeadlineSeconds);
  return std::all_of(places.begin(), places.end(),
                     [&](const std::string& place) { return place == places.front(); });
}

NodeTeams::NodeTeams(Team& team, const NodeMap& map)
    : nodes_(teams(team, map.by_node())), columns_(teams(team, map.by_column())) {}

NodeTeams::Teams NodeTeams::teams(Team& team, const std::shared_ptr<const TeamGroups>& groups) {
  Teams all(static_cast<std::size_t>(team.local_size()));
  for (std::size_t group = 0; group < groups->size(); ++group) {
    std::shared_ptr<Team> child;
    for (const int rank : (*groups)[group]) {
      if (!team.is_local(rank)) continue;
      if (child == nullptr) child = std::make_shared<Team>(team, groups, static_cast<int>(group));
      all[static_cast<std::size_t>(rank - team.first_local())] = child;
    }
  }
  return all;
}

}  // namespace duet
