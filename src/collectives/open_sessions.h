// The sessions of a job's engines: opened when a case first needs one, kept for those that follow.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "collectives/engine.h"

namespace duet {

class OpenSessions {
 public:
  // Ranks on all devices of the machine, and of those of the other processes where there are any.
  OpenSessions(Machine& machine, Processes* processes) : team_(machine, {}, processes) {}

  Team& team() { return team_; }

  // Of an engine several, by number, for calls at once. Throws Unavailable where the engine cannot
  // run on this team, again for every later case.
  CollectiveSession& session(CollectiveEngine& engine, int number = 0);

  // After a failure in a case the ranks may have made different calls: the next case opens anew.
  void close(const CollectiveEngine& engine) { sessions_.erase(engine.name()); }
  void close() { sessions_.clear(); }

 private:
  Team team_;
  std::map<std::string, std::map<int, std::unique_ptr<CollectiveSession>>> sessions_;
  std::map<std::pair<std::string, int>, std::string> reasons_;  // of those that could not be opened
};

}  // namespace duet
