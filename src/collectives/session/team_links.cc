#include "collectives/session/team_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/deadline.h"
#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

// Where all peers are behind one link, a second lane fills the pauses of the first; where each has
// a link of its own, each gets a lane.
constexpr int kLanesOfSharedLink = 2;

// What a process sees of the links between its own ranks.
struct OwnLinks {
  std::string kind;  // of its devices
  bool shared = false;
};

OwnLinks own_links(Team& team) {
  Machine& machine = team.machine();
  const DeviceInfo& info = machine.device(0).info();
  OwnLinks links{info.kind, team.local_size() == 1 && !info.link_per_peer};
  for (int local = 1; local < team.local_size(); ++local) {
    const int first = team.first_local();
    const Link link = machine.link(team.device_index(first), team.device_index(first + local));
    links.shared = links.shared || (link.shared && !link.beyond_node);
  }
  return links;
}

void add(TeamLinks& all, bool shared, int ranks) {
  if (shared) all.copying.in_order = true;
  all.copying.count = all.copying.in_order ? kLanesOfSharedLink : std::max(1, ranks - 1);
}

}  // namespace

TeamLinks team_links(Team& team, int node_size) {
  const OwnLinks own = own_links(team);
  TeamLinks all;
  add(all, own.shared, node_size);
  if (team.processes() == nullptr) return all;
  std::string first;
  int process = 0;
  for (const std::string& each :
       team.processes()->gather_all(pack({own.kind, own.shared ? "shared" : ""}),
                                    "all processes to send their links", kDefaultDeadlineSeconds)) {
    const std::vector<std::string> fields = unpack(each);
    if (process == 0) first = fields.at(0);
    if (fields.at(0) != first) {
      throw Unavailable(
          fmt::format("expected devices of one kind in all processes: process 0 has {}, process {} "
                      "has {}",
                      first, process, fields.at(0)));
    }
    add(all, !fields.at(1).empty(), node_size);
    ++process;
  }
  return all;
}

}  // namespace duet
