// The ranks of a run: one per device, each driven by a thread of its own (or by turns on a
// simulated machine). They may be spread over several processes, those of a process consecutive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "device/machine.h"
#include "team/failures.h"
#include "team/processes.h"
#include "team/retired_memory.h"
#include "team/share_outcome.h"

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

  // Calls `tell` with the reason, on any thread and perhaps more than once, when a rank of any
  // process fails in each() or a process is gone: for those who must release waits on devices. It
  // must neither wait for ranks nor call forget(). Called at once where it is so already.
  int on_failure(std::function<void(const std::string&)> tell);
  // Afterwards it is not called any more. The number is on_failure()'s.
  void forget(int number);
  // As if this rank's function had thrown already: for what must not wait until it has.
  void fail(int rank, const std::string& what);
  // Why the current each() has failed, or who is gone; "" if it is well.
  std::string failure() const;

  // Runs fn once in every process, outside of each(); where it throws in one, it throws in all.
  void together(const std::function<void()>& fn);

  // The meetings of ranks, inside each(): all ranks of all processes come to the same ones in the
  // same order, with an equal `what`, which ends the sentence "waiting for ...". Where ranks have
  // come to different ones, or to one of another result, all of them throw BadArgument naming both.
  // Where a rank's all_or_none() failed, all throw its error. After these errors all ranks may go
  // on. Throw Timeout naming `what`, and PeerFailed where another rank gave up or another process
  // failed or is gone; after that every meeting of this each() throws.

  // Returns when every rank of every process has come here.
  void barrier(const std::string& what, double deadline_seconds = 60);

  // Runs `step`, which may meet the others, and returns when it has succeeded on all ranks. Where
  // it threw on any it throws on all: on a rank whose own step failed its own error, on the others
  // the first one's by rank, of the same type, with the number of that rank. So nobody goes on to
  // what comes next while another is told that it may not.
  void all_or_none(Rank& rank, const std::string& what, const std::function<void()>& step,
                   double deadline_seconds = 60);

  // Every rank's bytes, by rank; shared by the ranks of a process, so that a thousand of them do
  // not keep a million strings.
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
    return std::static_pointer_cast<const T>(meet(rank.local,
                                                  {what, typeid(T).name(), {}, std::move(mine)},
                                                  what, deadline_seconds, reading<T>(read)));
  }
  // The same of bytes that are made first; where that throws on any rank, it throws on all as
  // all_or_none() does.
  using Make = std::function<std::string()>;
  template <typename T, typename Read>
  std::shared_ptr<const T> gather_as(Rank& rank, const Make& make, const std::string& what,
                                     Read read, double deadline_seconds = 60) {
    return std::static_pointer_cast<const T>(meet_with(rank, {what, typeid(T).name(), {}, ""}, make,
                                                       deadline_seconds, reading<T>(read)));
  }

  // Memory of local ranks that other ranks may still have mapped.
  RetiredMemory& retired() { return retired_; }
  // Inside each(), by every rank: frees of it what no rank needs any more.
  void free_retired(Rank& rank, double deadline_seconds = 60);
  // Inside each(): a number that the rank has never had, and which one it takes instead: the
  // largest of all ranks', so that it is the same on all and new to each.
  std::uint64_t next_number(const Rank& rank);
  void take_number(const Rank& rank, std::uint64_t number);

 private:
  // What a rank brings to a meeting.
  struct Part {
    std::string call;      // what the meeting is for
    std::string result;    // the type of what it makes of all ranks' bytes
    ShareOutcome outcome;  // of the rank's step before; one that failed comes to any meeting
    std::string bytes;
  };
  using ReadAny = std::function<std::shared_ptr<const void>(std::vector<std::string>)>;

  template <typename T, typename Read>
  static ReadAny reading(Read& read) {
    return [&read](std::vector<std::string> all) -> std::shared_ptr<const void> {
      return std::make_shared<const T>(read(std::move(all)));
    };
  }
  std::shared_ptr<const void> meet_with(Rank& rank, Part mine, const Make& make,
                                        double deadline_seconds, const ReadAny& read);
  std::shared_ptr<const void> meet(int local, Part mine, const std::string& what,
                                   double deadline_seconds, const ReadAny& read);
  void conclude(const std::string& what, double deadline_seconds, const ReadAny& read) noexcept;
  std::vector<Part> all_parts(const std::string& what, double deadline_seconds);
  static ShareOutcome verdict_on(const std::vector<Part>& parts);
  void wait_for(const std::string& what, double deadline_seconds, const long& count, long goal);
  void wait_for_conclusion(const std::string& what, double deadline_seconds, long full);
  void wait_until(const std::string& what, double deadline_seconds,
                  const std::function<bool()>& done);
  void give_up(const std::string& reason);
  void join_processes();

  void run_ranks(const std::function<void(Rank&)>& fn);
  void note_failure(int rank, const std::exception& error);

  Machine& machine_;
  std::vector<int> devices_;
  Processes* processes_;
  int size_;
  int first_local_ = 0;
  int on_failure_ = 0;

  // Guarded by scheduler(): local ranks that ever came to a meeting in this each(), those that may
  // go on from it, and why there is nothing to wait for any more.
  long arrived_ = 0;
  long released_ = 0;
  std::string failure_;

  // Of a meeting: each part written by its rank before it comes, the rest by the one that comes
  // last before it lets the others go on.
  std::vector<Part> parts_;
  std::shared_ptr<const void> gathered_;
  ShareOutcome outcome_;
  bool broken_ = false;  // outcome_ is not that of all ranks

  Failures failures_;                    // of this process's ranks
  std::uint64_t eaches_ = 0;             // that have begun
  std::vector<std::uint64_t> numbered_;  // by local rank: its last number
  RetiredMemory retired_;
};

}  // namespace duet
