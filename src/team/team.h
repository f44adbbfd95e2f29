#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "device/machine.h"
#include "team/agreement.h"
#include "team/failures.h"
#include "team/network_options.h"
#include "team/processes.h"
#include "team/retired_memory.h"

namespace duet {

class Team;

// A division of a team's ranks: the ranks of each group in rising order, every rank in one group.
using TeamGroups = std::vector<std::vector<int>>;

struct Rank {
  int index = 0;  // among the ranks of all processes
  int size = 1;
  Device& device;
  Team& team;
  int local = 0;  // among the ranks of this process
};

// The ranks of a run: one per device, each driven by a thread of its own; on a simulated machine
// one thread runs at a time. Ranks may be spread over several processes; those of a process have
// consecutive numbers.
class Team {
 public:
  // Ranks on the named devices of the machine, in that order; all of them if `devices` is empty.
  // The machine must outlive the team.
  //
  // Collective: each of several processes makes its team with its own machine and devices, and all
  // of them make the collective calls below. Machines then allocate memory that other processes can
  // import. A simulated machine has one process (UsageError).
  explicit Team(Machine& machine, std::vector<int> devices = {}, Processes* processes = nullptr);
  // A child team: group `group` of `groups`, which divide the parent's ranks; each lists its ranks
  // in rising order and is numbered from 0 within the child. At least one of them is local. The
  // parent must outlive its children.
  //
  // All ranks of the parent make the same collective calls, each on its own group's child, inside
  // the parent's each(). A gather gives the bytes of the group's ranks. Barriers, errors and
  // all_or_none() are those of all ranks of the parent, so that no group is in another call than
  // the others; messages name ranks by their numbers in the parent. Calls that processes make
  // together outside of each(), each makes on one of its children. each() throws BadArgument.
  Team(Team& parent, std::shared_ptr<const TeamGroups> groups, int group);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }  // of all processes
  int local_size() const { return static_cast<int>(devices_.size()); }
  int first_local() const { return first_local_; }
  bool is_local(int rank) const {
    return rank >= first_local_ && rank < first_local_ + local_size();
  }

  Machine& machine() { return machine_; }
  // The run's processes; nullptr if this one is alone.
  Processes* processes() { return processes_; }

  // This many consecutive ranks are a node (nodes.h); 0, the default: nodes are detected.
  // The same in all processes, and set before sessions are opened.
  void set_node_size(int ranks) { node_size_ = ranks; }
  int node_size() const { return node_size_; }
  // Likewise.
  void set_network(NetworkOptions options) { network_ = std::move(options); }
  const NetworkOptions& network() const { return network_; }

  // The machine's number of a local rank's device, and the device. Throw BadArgument for a rank of
  // another process.
  int device_index(int rank) const;
  Device& device(int rank) { return machine_.device(device_index(rank)); }
  // The Rank that fn gets in each(), for use outside of each().
  Rank local_rank(int local) {
    return {first_local_ + local, size_, device(first_local_ + local), *this, local};
  }
  // Of a child team: the parent's rank in this group, and back. The parent's rank must be local.
  Rank child_rank(const Rank& of_parent);
  int parent_rank(int rank) const { return parent_ == nullptr ? rank : group().at(index_of(rank)); }
  // The team that is no child of another one, and this one's rank in it.
  const Team& whole() const { return parent_ == nullptr ? *this : parent_->whole(); }
  int whole_rank(int rank) const {
    return parent_ == nullptr ? rank : parent_->whole_rank(parent_rank(rank));
  }

  // Collective: runs fn on every local rank and returns when all have ended in all processes. If a
  // rank throws, the others' waits throw PeerFailed; then the first error is rethrown, in other
  // processes with the name of that rank's process.
  void each(const std::function<void(Rank&)>& fn);

  // Calls `notify` with the reason when a rank of any process fails in each() or a process is gone,
  // on any thread and perhaps more than once; at once if that has happened already. For callers
  // that must release waits on devices. It must neither wait for ranks nor call forget(). Returns a
  // number for forget().
  int on_failure(std::function<void(const std::string&)> notify);
  // Removes the callback with this number. When this returns, it does not run and will not run.
  void forget(int number);
  // Fails the current each() as if this rank's function had thrown, without waiting until it does.
  void fail(int rank, const std::string& what);
  // Why the current each() has failed, or who is gone; "" if it is well.
  std::string failure() const;

  // Collective, outside of each(): runs fn once in every process. If it throws in one, all throw.
  void together(const std::function<void()>& fn);
  // Collective among processes, outside of each(): the texts of all ranks, by rank. `mine`: of the
  // local ranks.
  std::vector<std::string> texts_of_ranks(const std::vector<std::string>& mine,
                                          const std::string& what);

  // Barriers and gathers, inside each(): all ranks of all processes make the same calls in the same
  // order, with an equal `what`, which ends the sentence "waiting for ...".
  //   BadArgument, on all ranks: ranks are in different calls, or in gathers of different results;
  //   the error of a rank's all_or_none(), on all ranks: that step failed;
  //   Timeout naming `what`: a rank did not come; PeerFailed: another rank threw, or another
  //   process failed or died.
  // After the first two all ranks may go on; after the last every further call of this each()
  // throws.

  // Returns when every rank of every process is in this barrier.
  void barrier(const std::string& what, double deadline_seconds = kDefaultDeadlineSeconds);

  // Runs `step`, which may make collective calls, and returns when it has succeeded on all ranks.
  // If it throws on any rank, all throw: a rank whose own step failed its own error, the others the
  // error of the lowest such rank, of the same type, with its number. So all ranks go on, or none.
  void all_or_none(Rank& rank, const std::string& what, const std::function<void()>& step,
                   double deadline_seconds = kDefaultDeadlineSeconds);

  // Every rank's bytes, by rank. The ranks of a process share one result, so that a thousand ranks
  // do not keep a million strings.
  using Gathered = std::shared_ptr<const std::vector<std::string>>;
  Gathered gather(Rank& rank, std::string mine, const std::string& what,
                  double deadline_seconds = kDefaultDeadlineSeconds) {
    return gather_as<std::vector<std::string>>(
        rank, std::move(mine), what, [](std::vector<std::string> all) { return all; },
        deadline_seconds);
  }
  // As gather(), with the result as the T that `read` makes of the bytes, once in each process.
  template <typename T, typename Read>
  std::shared_ptr<const T> gather_as(Rank& rank, std::string mine, const std::string& what,
                                     Read read, double deadline_seconds = kDefaultDeadlineSeconds) {
    return std::static_pointer_cast<const T>(
        gather_any(rank.local, {what, typeid(T).name(), {}, std::move(mine)}, what,
                   deadline_seconds, reading<T>(read)));
  }
  // As gather_as(), with bytes that `make` returns. If that throws on any rank, all throw as in
  // all_or_none().
  using Make = std::function<std::string()>;
  template <typename T, typename Read>
  std::shared_ptr<const T> gather_as(Rank& rank, const Make& make, const std::string& what,
                                     Read read, double deadline_seconds = kDefaultDeadlineSeconds) {
    return std::static_pointer_cast<const T>(make_and_gather(
        rank, {what, typeid(T).name(), {}, ""}, make, deadline_seconds, reading<T>(read)));
  }

  // Collective, inside each(): the first text that is not empty, by rank; "" if all are. Of a child
  // team: among all ranks of the parent.
  std::string first_reason(Rank& rank, std::string mine, const std::string& what,
                           double deadline_seconds = kDefaultDeadlineSeconds);

  // Memory of local ranks that other ranks may still have imported.
  RetiredMemory& retired() { return retired_; }
  // Collective, inside each(): frees the retired memory that no rank needs any more.
  void free_retired(Rank& rank, double deadline_seconds = kDefaultDeadlineSeconds);
  // Inside each(), to agree on a number that is new to every rank: each proposes next_number(), and
  // all take_number() the largest proposal.
  std::uint64_t next_number(const Rank& rank);
  void take_number(const Rank& rank, std::uint64_t number);

 private:
  // What a rank brings to a barrier or gather.
  struct RankContribution {
    std::string call;      // `what`
    std::string result;    // the type of the gather's result; "" of a barrier
    ShareOutcome outcome;  // of the rank's step before; a failed rank takes part in any call
    std::string bytes;
  };
  using ReadAny = std::function<std::shared_ptr<const void>(std::vector<std::string>)>;

  template <typename T, typename Read>
  static ReadAny reading(Read& read) {
    return [&read](std::vector<std::string> all) -> std::shared_ptr<const void> {
      return std::make_shared<const T>(read(std::move(all)));
    };
  }
  std::shared_ptr<const void> make_and_gather(Rank& rank, RankContribution mine, const Make& make,
                                              double deadline_seconds, const ReadAny& read);
  std::shared_ptr<const void> gather_any(int local, RankContribution mine, const std::string& what,
                                         double deadline_seconds, const ReadAny& read);
  std::shared_ptr<const void> gather_in_groups(int local, RankContribution mine,
                                               const std::string& what, double deadline_seconds,
                                               const ReadAny& read);
  void complete_gather(const std::string& what, double deadline_seconds,
                       const ReadAny& read) noexcept;
  std::vector<RankContribution> all_contributions(const std::string& what, double deadline_seconds);
  static ShareOutcome outcome_of_all(const std::vector<RankContribution>& all);
  void wait_for(const std::string& what, double deadline_seconds, const long& count, long goal);
  void wait_for_completion(const std::string& what, double deadline_seconds, long full);
  void wait_until(const std::string& what, double deadline_seconds,
                  const std::function<bool()>& done);
  void give_up(const std::string& reason);
  std::string noticed_failure() const;
  void join_processes();

  void run_ranks(const std::function<void(Rank&)>& fn);
  void note_failure(int rank);

  static std::size_t index_of(int number) { return static_cast<std::size_t>(number); }
  const std::vector<int>& group() const { return groups_->at(index_of(group_)); }
  int parent_local(int local) const;

  Team* parent_ = nullptr;  // null: not a child
  std::shared_ptr<const TeamGroups> groups_;
  int group_ = 0;

  Machine& machine_;
  std::vector<int> devices_;
  Processes* processes_;
  int size_;
  int first_local_ = 0;
  int node_size_ = 0;
  NetworkOptions network_;
  int on_failure_ = 0;

  // Guarded by scheduler(): arrivals of local ranks at barriers and gathers of this each(), how
  // many of these arrivals are released, and why waits throw; "" if they do not.
  long arrived_ = 0;
  long released_ = 0;
  std::string failure_;

  // Of the current barrier or gather. Each contribution is written by its rank before it arrives,
  // the rest by the last rank to arrive before it releases the others.
  std::vector<RankContribution> contributions_;
  std::shared_ptr<const void> gathered_;
  ShareOutcome outcome_;
  bool broken_ = false;  // outcome_ is this process's alone

  Failures failures_;                        // of this process's ranks
  std::uint64_t each_calls_ = 0;             // calls of each() so far
  std::vector<std::uint64_t> last_numbers_;  // by local rank: its last number
  RetiredMemory retired_;
};

}  // namespace duet
