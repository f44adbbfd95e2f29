#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/error.h"

namespace duet {

// Sessions that are opened when they are first needed. Key names one; Session has usable().
template <typename Key, typename Session>
class SessionCache {
 public:
  // The key's session: `open` makes it where there is none, or the one that there is is no longer
  // usable. Where `open` throws Unavailable, later calls throw the same error without another
  // attempt.
  template <typename Open>
  Session& get(const Key& key, Open open) {
    const auto refused = reasons_.find(key);
    if (refused != reasons_.end()) throw Unavailable(refused->second);
    std::unique_ptr<Session>& session = sessions_[key];
    if (session != nullptr && !session->usable()) session.reset();
    if (session == nullptr) {
      try {
        session = open();
      } catch (const Unavailable& error) {
        reasons_[key] = error.what();
        throw;
      }
    }
    return *session;
  }

  void close(const Key& key) { sessions_.erase(key); }
  template <typename Predicate>
  void close_if(Predicate closes) {
    for (auto each = sessions_.begin(); each != sessions_.end();) {
      each = closes(each->first) ? sessions_.erase(each) : std::next(each);
    }
  }
  void close() { sessions_.clear(); }

 private:
  std::map<Key, std::unique_ptr<Session>> sessions_;
  std::map<Key, std::string> reasons_;  // of those that could not be opened
};

}  // namespace duet
