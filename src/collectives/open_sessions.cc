#include "collectives/open_sessions.h"

namespace duet {

CollectiveSession& OpenSessions::session(CollectiveEngine& engine, int number) {
  return sessions_.get({engine.name(), number}, [&] { return engine.open(team_); });
}

}  // namespace duet
