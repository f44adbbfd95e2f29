#include "team/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/deadline.h"
#include "core/error.h"
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

}  // namespace

NodeMap NodeMap::of(Team& team) {
  const Team& whole = team.whole();
  if (whole.node_size() == 0) {
    return NodeMap(
        equal_texts(team.texts_of_ranks(own_nodes(team), "all processes to send their nodes")));
  }
  std::vector<std::string> nodes;
  for (int rank = 0; rank < team.size(); ++rank) {
    nodes.push_back(std::to_string(team.whole_rank(rank) / whole.node_size()));
  }
  return NodeMap(equal_texts(nodes));
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

}  // namespace duet
