// Ranks on a simulated machine: real threads that hand one turn round, in rank order. Virtual time
// passes only when every rank waits. Taking turns is also what guards the machine's state: whoever
// has the turn may use it, and nobody else runs.
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

class SimScheduler : public RankScheduler {
 public:
  // `blocked` says what the machine itself waits for; it goes into the message of a deadlock.
  SimScheduler(VirtualClock& clock, std::function<std::string()> blocked);

  void run(int ranks, const std::function<void(int)>& body) override;

  // Deadlines are virtual. If nothing is pending that could make anybody ready, the wait whose
  // deadline is nearest ends at once: Timeout, with what every rank waits for.
  void wait(const std::string& what, double deadline_seconds,
            const std::function<bool()>& ready) override;
  void update(const std::function<void()>& change) override;

  // One look at a condition. A look that finds nothing takes `seconds` of virtual time, in which
  // others have their turns, so that a loop of looks gets on.
  bool look(double seconds, const std::function<bool()>& ready);

 private:
  struct Rank {
    bool alive = true;
    bool waiting = false;
    std::string what;
    double deadline = 0;  // in the clock's time
    const std::function<bool()>* ready = nullptr;
    std::exception_ptr error;  // how the wait ends, if not well
    std::condition_variable wake;
  };

  void begin(std::size_t threads);
  void live(int rank, const std::function<void(int)>& body);
  void hand_on();
  bool give_turn_to_ready();
  bool give_turn_to_failing();
  std::exception_ptr error_of_waiting(const Rank& rank) const;
  void advance();
  bool is_ready(Rank& rank);
  Rank* most_urgent();
  std::string everybody() const;

  VirtualClock& clock_;
  std::function<std::string()> blocked_;
  std::mutex mutex_;
  std::deque<Rank> ranks_;  // outside run() one: the program itself
  std::size_t turn_ = 0;
  bool running_ = false;
  bool evaluating_ = false;    // inside a condition or an action: no waiting there
  std::exception_ptr failed_;  // of the first rank that failed
};

}  // namespace duet::sim
