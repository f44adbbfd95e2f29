#include "collectives/open_sessions.h"

namespace duet {

CollectiveSession& OpenSessions::session(CollectiveEngine& engine, int number) {
  const std::string name = engine.name();
  const auto refused = reasons_.find({name, number});
  if (refused != reasons_.end()) throw Unavailable(refused->second);
  std::unique_ptr<CollectiveSession>& session = sessions_[name][number];
  if (session != nullptr && !session->usable()) session.reset();
  if (session == nullptr) {
    try {
      session = engine.open(team_);
    } catch (const Unavailable& error) {
      reasons_[{name, number}] = error.what();
      throw;
    }
  }
  return *session;
}

}  // namespace duet
