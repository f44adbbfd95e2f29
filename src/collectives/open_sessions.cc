// Sessions by engine; see open_sessions.h.
#include "collectives/open_sessions.h"

#include <limits>

namespace duet {
namespace {

constexpr int kMostNumbers = std::numeric_limits<int>::max();

}  // namespace

CollectiveSession& OpenSessions::session(CollectiveEngine& engine, int number) {
  const std::pair<std::string, int> key{engine.name(), number};
  const auto refused = reasons_.find(key);
  if (refused != reasons_.end()) throw Unavailable(refused->second);
  std::unique_ptr<CollectiveSession>& session = sessions_[key];
  if (session == nullptr) {
    try {
      session = engine.open(team_);
    } catch (const Unavailable& error) {
      reasons_[key] = error.what();
      throw;
    }
  }
  return *session;
}

void OpenSessions::close(const CollectiveEngine& engine) {
  const std::string name = engine.name();
  sessions_.erase(sessions_.lower_bound({name, 0}), sessions_.upper_bound({name, kMostNumbers}));
}

}  // namespace duet
