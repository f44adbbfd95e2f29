#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

#include "device/rank_scheduler.h"
#include "device/sim/clock.h"

namespace duet::sim {

// The rank scheduler of a simulated machine: ranks are threads, of which one runs at a time, in
// rank order and until it waits. Virtual time passes only when every rank waits.
//
// Invariant: only the running rank uses the machine's state, so that needs no lock of its own.
class SimScheduler : public RankScheduler {
 public:
  // `blocked` returns what the machine's streams wait for, for the message of a deadlock.
  SimScheduler(VirtualClock& clock, std::function<std::string()> blocked);

  void run(int ranks, const std::function<void(int)>& body) override;

  // Deadlines are in virtual time. If all ranks wait and the clock has no event (a deadlock), the
  // wait with the nearest deadline throws Timeout at once, with what every rank waits for.
  void wait(const std::string& what, double deadline_seconds,
            const std::function<bool()>& ready) override;
  void update(const std::function<void()>& change) override;

  // Returns ready(). If that is false at first, the call takes up to `seconds` of virtual time, in
  // which other ranks run. Without that, a loop that polls would never end.
  bool poll(double seconds, const std::function<bool()>& ready);

 private:
  struct SimulatedRank {
    bool alive = true;
    bool waiting = false;
    std::string what;
    double deadline = 0;  // by the virtual clock
    const std::function<bool()>* ready = nullptr;
    std::exception_ptr error;  // that the rank's wait is to throw
    std::condition_variable wake;
  };

  void start_first(std::size_t threads);
  void run_rank(int rank, const std::function<void(int)>& body);
  void schedule_next();
  bool resume_ready();
  bool resume_after_failure();
  std::exception_ptr error_of_waiting(const SimulatedRank& rank) const;
  void advance();
  bool is_ready(SimulatedRank& rank);
  SimulatedRank* nearest_deadline();
  std::string waits_of_all() const;

  VirtualClock& clock_;
  std::function<std::string()> blocked_;
  std::mutex mutex_;
  std::deque<SimulatedRank> ranks_;  // outside run(): one, for the program itself
  std::size_t running_rank_ = 0;
  bool inside_run_ = false;
  bool evaluating_ = false;    // inside a condition or an action, which must not wait
  std::exception_ptr failed_;  // the error of the first rank that failed
};

}  // namespace duet::sim
