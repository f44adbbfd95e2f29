// The ranks of a run: one per device, each driven by a thread of its own (or by turns on a
// simulated machine). They may be spread over several processes, those of a process consecutive.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/machine.h"
#include "team/processes.h"

namespace duet {

class Team;

struct Rank {
  int index = 0;  // among all processes' ranks
  int size = 1;
  Device& device;
  Team& team;
  int local = 0;  // among this process's
};

class Team {
 public:
  // Ranks on the named devices of the machine, in that order; all of them if `devices` is empty.
  // The machine must outlive the team.
  //
  // With several processes every one of them makes its team with its own machine and devices, and
  // all calls below that meet others are made by all of them. Machines are told to make memory that
  // other processes can map. A simulated machine has one process (UsageError).
  explicit Team(Machine& machine, std::vector<int> devices = {}, Processes* processes = nullptr);
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
  // The other processes; nullptr where there are none.
  Processes* processes() { return processes_; }

  // The machine's number of a local rank's device, and the device. Throw BadArgument for a rank of
  // another process.
  int device_index(int rank) const;
  Device& device(int rank) { return machine_.device(device_index(rank)); }
  // As fn gets it in each(): for what is done rank by rank outside of it.
  Rank local_rank(int local) {
    return {first_local_ + local, size_, device(first_local_ + local), *this, local};
  }

  // Runs fn on every local rank and returns when all have ended, in all processes. If a rank threw,
  // the others leave their waits with an error of their own; then the first error is rethrown, in
  // another process with the name of that rank's.
  void each(const std::function<void(Rank&)>& fn);

  // Runs fn once in every process, outside of each(); where it throws in one, it throws in all.
  void together(const std::function<void()>& fn);

  // Inside each(): returns when every rank of every process has come here. Throws Timeout naming
  // `what`.
  void barrier(const std::string& what, double deadline_seconds = 60);

  // Inside each(): every rank's bytes, by rank; shared by the ranks of a process, so that a
  // thousand of them do not keep a million strings. Throws as barrier().
  using Gathered = std::shared_ptr<const std::vector<std::string>>;
  Gathered gather(Rank& rank, std::string mine, const std::string& what,
                  double deadline_seconds = 60) {
    return gather_as<std::vector<std::string>>(
        rank, std::move(mine), what, [](std::vector<std::string> all) { return all; },
        deadline_seconds);
  }
  // The same, read once in each process: as the T that `read` makes of them.
  template <typename T, typename Read>
  std::shared_ptr<const T> gather_as(Rank& rank, std::string mine, const std::string& what,
                                     Read read, double deadline_seconds = 60) {
    return std::static_pointer_cast<const T>(
        gather_any(rank, std::move(mine), what, deadline_seconds,
                   [&](std::vector<std::string> all) -> std::shared_ptr<const void> {
                     return std::make_shared<const T>(read(std::move(all)));
                   }));
  }

 private:
  using ReadAny = std::function<std::shared_ptr<const void>(std::vector<std::string>)>;
  std::shared_ptr<const void> gather_any(Rank& rank, std::string mine, const std::string& what,
                                         double deadline_seconds, const ReadAny& read);
  void meet(const std::string& what, double deadline_seconds,
            const std::function<void(double)>& speak);
  void wait_for(const std::string& what, double deadline_seconds, const long& count, long goal);
  void join_processes();

  Machine& machine_;
  std::vector<int> devices_;
  Processes* processes_;
  int size_;
  int first_local_ = 0;
  int on_failure_ = 0;

  // Guarded by turns(): local ranks that ever came to a meeting in this each(), those that may go
  // on from it, and why there is nothing to wait for any more.
  long arrived_ = 0;
  long released_ = 0;
  std::string failure_;

  // Of a gathering: each written by its rank before a meeting, then by the one that speaks.
  std::vector<std::string> parts_;
  std::shared_ptr<const void> gathered_;
};

}  // namespace duet
