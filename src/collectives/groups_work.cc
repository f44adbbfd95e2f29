#include "collectives/groups_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace duet {

GroupsWork::GroupsWork(const TeamGroups& groups, const GroupSessions& sessions,
                       const Collective& collective, bool in_place, bool verified)
    : sessions_(sessions), collective_(collective), chosen_(groups.size(), true) {
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const int rank : groups[group]) {
      group_of_.resize(std::max(group_of_.size(), static_cast<std::size_t>(rank) + 1));
      group_of_[static_cast<std::size_t>(rank)] = static_cast<int>(group);
    }
  }
  const auto& teams = sessions.teams();
  for (std::size_t place = 0; place < teams.size(); ++place) {
    works_.push_back(std::make_unique<CollectiveWork>(*teams[place], sessions.at(place), collective,
                                                      in_place, verified));
  }
}

void GroupsWork::choose(const std::vector<int>& groups) {
  chosen_.assign(chosen_.size(), false);
  for (const int group : groups) chosen_.at(static_cast<std::size_t>(group)) = true;
}

void GroupsWork::prepare(Rank& rank, const Placement& placement) {
  Rank own = sessions_.rank(rank);
  work(rank).prepare(own, placement);
}

bool GroupsWork::makes_the_call(const Rank& rank) const {
  const int group = group_of_[static_cast<std::size_t>(rank.index)];
  return chosen_[static_cast<std::size_t>(group)];
}

void GroupsWork::enqueue(Rank& rank, Stream& stream) {
  if (!makes_the_call(rank)) return;
  Rank own = sessions_.rank(rank);
  work(rank).enqueue(own, stream);
}

// The others make no call whose result could be checked, but those of verify().
void GroupsWork::renew(Rank& rank) {
  if (!makes_the_call(rank)) return;
  Rank own = sessions_.rank(rank);
  work(rank).renew(own);
}

// A rank's number in a message is its number in the group.
std::optional<Skipped> GroupsWork::verify(Rank& rank) {
  Rank own = sessions_.rank(rank);
  try {
    return work(rank).verify(own);
  } catch (const Mismatch& error) {
    throw Mismatch(fmt::format("group {}, rank {} of all: {}",
                               group_of_[static_cast<std::size_t>(rank.index)], rank.index,
                               error.what()));
  }
}

void GroupsWork::release(Rank& rank) noexcept {
  Rank own = sessions_.rank(rank);
  work(rank).release(own);
}

}  // namespace duet
