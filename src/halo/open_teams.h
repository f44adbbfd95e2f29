#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/engine.h"
#include "collectives/session_cache.h"
#include "halo/engine.h"

namespace duet {

// The teams and sessions of a benchmark, each made by the first case that needs it.
class OpenTeams {
 public:
  // `node_size` and `network` as Team takes them.
  OpenTeams(Machine& machine, Processes* processes, int node_size = 0, NetworkOptions network = {})
      : machine_(machine),
        processes_(processes),
        node_size_(node_size),
        network_(std::move(network)) {}

  // Of this many ranks: the first devices of one process, or, with several processes, all devices.
  struct OpenTeam {
    OpenTeam(Machine& machine, const std::vector<int>& devices, Processes* processes)
        : team(machine, devices, processes) {}
    Team team;
    // By the engine's name.
    SessionCache<std::string, HaloSession> halo;
    SessionCache<std::string, CollectiveSession> gathers;
  };
  OpenTeam& team(int ranks);
  // Throw Unavailable where the engine cannot run on the team, as SessionCache::get() does.
  HaloSession& session(OpenTeam& on, HaloEngine& engine);
  CollectiveSession& gathers(OpenTeam& on, const HaloEngine& engine);

  // After a case has failed its ranks may have made different calls: the next case opens another
  // session.
  void close(OpenTeam& on, const HaloEngine& engine);
  void close() { teams_.clear(); }

 private:
  Machine& machine_;
  Processes* processes_;
  int node_size_;
  NetworkOptions network_;
  std::map<int, std::unique_ptr<OpenTeam>> teams_;  // by number of devices of this process
};

}  // namespace duet
