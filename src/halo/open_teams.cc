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
  const std::string name = engine.name();
  const auto refused = reasons_.find({&on, name});
  if (refused != reasons_.end()) throw Unavailable(refused->second);
  std::unique_ptr<HaloSession>& session = on.halo[name];
  if (session == nullptr) {
    try {
      session = engine.open(on.team);
    } catch (const Unavailable& error) {
      reasons_[{&on, name}] = error.what();
      throw;
    }
  }
  return *session;
}

CollectiveSession& OpenTeams::gathers(OpenTeam& on, const HaloEngine& engine) {
  const std::string name = engine.gathers_by();
  std::unique_ptr<CollectiveSession>& session = on.gathers[name];
  if (session != nullptr && !session->usable()) session.reset();
  if (session == nullptr) session = engines_named(machine_, {name}).front()->open(on.team);
  return *session;
}

void OpenTeams::close(OpenTeam& on, const HaloEngine& engine) {
  on.halo.erase(engine.name());
  on.gathers.erase(engine.gathers_by());
}

}  // namespace duet
