#include "halo/open_teams.h"

#include <numeric>

namespace duet {

OpenTeams::OpenTeam& OpenTeams::team(int ranks) {
  const int devices = processes_ != nullptr ? machine_.size() : ranks;
  std::unique_ptr<OpenTeam>& team = teams_[devices];
  if (team == nullptr) {
    std::vector<int> first(static_cast<std::size_t>(devices));
    std::iota(first.begin(), first.end(), 0);
    team = std::make_unique<OpenTeam>(machine_, first, processes_);
    team->team.set_node_size(node_size_);
    team->team.set_network(network_);
  }
  return *team;
}

HaloSession& OpenTeams::session(OpenTeam& on, HaloEngine& engine) {
  return on.halo.get(engine.name(), [&] { return engine.open(on.team); });
}

CollectiveSession& OpenTeams::gathers(OpenTeam& on, const HaloEngine& engine) {
  const std::string name = engine.gathers_by();
  return on.gathers.get(name,
                        [&] { return engines_named(machine_, {name}).front()->open(on.team); });
}

void OpenTeams::close(OpenTeam& on, const HaloEngine& engine) {
  on.halo.close(engine.name());
  on.gathers.close(engine.gathers_by());
}

}  // namespace duet
