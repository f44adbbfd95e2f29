// A collective that groups of a team's ranks make, all of them at once or some.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collective_work.h"
#include "collectives/group_sessions.h"
#include "timing/work.h"

namespace duet {

// Every group has the call, of the collective's counts among its ranks, on data of its own. All are
// prepared and verified, whichever of them make the call in an iteration.
class GroupsWork : public Work {
 public:
  // `groups`: those of the sessions, which must outlive this. `verified` as CollectiveWork takes
  // it.
  GroupsWork(const TeamGroups& groups, const GroupSessions& sessions, const Collective& collective,
             bool in_place, bool verified);

  // The groups that make the call from now on, by their numbers; at first all. Not while ranks run.
  void choose(const std::vector<int>& groups);

  std::string name() const override { return std::string(duet::name(collective_.kind)); }
  // Of one call of the first group that has ranks in this process.
  Cost cost() const override { return works_.front()->cost(); }
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  bool host_driven() const override { return works_.front()->host_driven(); }
  int most_queued() const override { return works_.front()->most_queued(); }
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // That of the plan of the first group's first rank; "" before prepare().
  const std::string& algorithm() const { return works_.front()->algorithm(); }

 private:
  bool makes_the_call(const Rank& rank) const;
  CollectiveWork& work(const Rank& rank) { return *works_[sessions_.place(rank)]; }

  const GroupSessions& sessions_;
  Collective collective_;
  std::vector<int> group_of_;                           // by rank of the team
  std::vector<bool> chosen_;                            // by group
  std::vector<std::unique_ptr<CollectiveWork>> works_;  // of the groups with local ranks
};

}  // namespace duet
