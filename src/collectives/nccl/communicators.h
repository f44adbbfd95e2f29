#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/nccl/calls.h"
#include "collectives/nccl/mode.h"
#include "team/team.h"

namespace duet::nccl {

// The NCCL communicators of this process's ranks in a team, one per rank. All of them are aborted
// after the first failure: of a call, of a rank in Team::each() or of another process of the run.
// Without the abort, work that ranks have enqueued might never end.
class Communicators {
 public:
  // Collective; called outside Team::each(). Throws Error, or Timeout where a rank does not join.
  // Ranks of a child team join at their first connect().
  Communicators(const Library& library, Mode mode, Team& team);
  // Waits at most 30 s for each rank. The ranks' streams must be idle, except after give_up().
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  const Library& library() const { return library_; }
  CommRank comm_rank(const Rank& rank) const;

  // Joins the rank to the others of the team, unless it has joined. Collective, inside
  // Team::each(). Throws as the constructor.
  void connect(Rank& rank);

  // Makes a call that blocks until all peers have made it, with a deadline. Collective: every rank
  // calls it inside Team::each(). `call` must own what it uses (within.h). `what` names the call in
  // error messages.
  void together(Rank& rank, const std::string& what, std::function<void()> call);

  // Makes a non-blocking call that enqueues on a local rank's communicator. While it runs,
  // give_up() waits before it aborts this communicator. Throws what require_usable() throws; an
  // error of `call` fails the team, whose other ranks would wait for this one.
  void enqueue(int local, const std::function<void()>& call);

  bool usable() const { return !given_up_; }
  // Throws PeerFailed with the first reason unless usable().
  void require_usable() const;

  // Aborts all communicators. May be called on any thread. Later calls of ranks throw.
  void give_up(const std::string& reason) noexcept;

 private:
  bool healthy() const;
  void note_reason(const std::string& reason);

  const Library& library_;
  Mode mode_;
  Team& team_;
  int on_failure_ = 0;
  std::mutex mutex_;  // guards aborted_, so that each communicator is aborted once
  bool aborted_ = false;
  std::atomic<bool> given_up_{false};
  mutable std::mutex reason_mutex_;   // guards reason_
  std::string reason_;                // why it was given up first
  std::vector<Comm> comms_;           // one per local rank
  std::deque<std::mutex> enqueuing_;  // one per local rank; held in enqueue() and during the abort
};

}  // namespace duet::nccl
