// The communicators of this process's ranks: one each.
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

// Once any call has failed, a rank in Team::each(), or another process of the run, all are given
// up: what ranks have enqueued may then never end.
class Communicators {
 public:
  // Collective, outside Team::each(). Throws Error, or Timeout where ranks do not come.
  Communicators(const Library& library, const Mode& mode, Team& team);
  // Waits at most 30 s for each rank. Its streams must be idle, unless it is given up.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  const Library& library() const { return library_; }
  Seat seat(const Rank& rank) const;

  // Inside each(), by every rank: a call that blocks until the peers have made it too, with a
  // deadline. `call` must own what it uses (within.h).
  void together(Rank& rank, const std::string& what, std::function<void()> call);

  // A call that only enqueues on a local rank's communicator, which give_up() aborts
  // after it. Throws what require_usable() does.
  void enqueue(int local, const std::function<void()>& call);

  bool usable() const { return !given_up_; }
  // Throws Error if it is not.
  void require_usable() const;

  // Aborts all that is under way, on any thread; what the ranks call later throws.
  void give_up() noexcept;

 private:
  void connect(Rank& rank, const Mode& mode);
  bool healthy() const;

  const Library& library_;
  Team& team_;
  int on_failure_ = 0;
  std::mutex mutex_;  // aborting happens once
  bool aborted_ = false;
  std::atomic<bool> given_up_{false};
  std::vector<Comm> comms_;           // of the local ranks
  std::deque<std::mutex> enqueuing_;  // likewise: held while one is used, and while it is aborted
};

}  // namespace duet::nccl
