#pragma once

#include <string>
#include <utility>

#include "collectives/engine.h"
#include "collectives/session_cache.h"

namespace duet {

// The sessions of a benchmark's engines. The first case that needs an engine opens its session;
// later cases use the same one.
class OpenSessions {
 public:
  // The team has a rank on every device of the machine and, with several processes, on every device
  // of theirs. `processes` may be null. `node_size` and `network` as Team
  // takes them.
  OpenSessions(Machine& machine, Processes* processes, int node_size = 0,
               const NetworkOptions& network = {})
      : team_(machine, {}, processes) {
    team_.set_node_size(node_size);
    team_.set_network(network);
  }

  Team& team() { return team_; }

  // The engine's session with this number, opened if necessary. Different numbers give different
  // sessions, for calls that run concurrently. Throws Unavailable where the engine cannot run on
  // this team; later calls throw the same error without another attempt.
  CollectiveSession& session(CollectiveEngine& engine, int number = 0) {
    return sessions_.get({engine.name(), number}, [&] { return engine.open(team_); });
  }

  // Called after a case has failed: its ranks may have made different calls, so the next case must
  // open a new session.
  void close(const CollectiveEngine& engine) {
    sessions_.close_if([name = engine.name()](const Key& key) { return key.first == name; });
  }
  void close() { sessions_.close(); }

 private:
  using Key = std::pair<std::string, int>;  // the engine's name, and the session's number

  Team team_;
  SessionCache<Key, CollectiveSession> sessions_;
};

}  // namespace duet
