// Holds every rank's stream on its device until all ranks have enqueued. Each process releases its
// streams with one write. Launch latency and skew between ranks thus stay out of the samples.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "team/team.h"

namespace duet {

class StartGate {
 public:
  // Allocates the gate's semaphore in pinned memory of the first local rank's device, which every
  // device of the machine can read.
  explicit StartGate(Team& team);
  ~StartGate();
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  // Collective, inside Team::each(). Later work of `stream` waits for the next release(). If no
  // release() comes within the deadline, a watchdog opens the gate, so that a call that blocks
  // behind it can return.
  void hold(Rank& rank, Stream& stream, double deadline_seconds);
  // Collective, inside Team::each(): a barrier, then releases all streams. The first local rank
  // calls `then` right after the release. Throws Timeout if the watchdog has opened the gate.
  void release(Rank& rank, double deadline_seconds, const std::function<void()>& then = {});
  // Releases all streams without a barrier. The first local rank calls it in `then` of another
  // gate's release(), when every rank has called hold() of both gates. A second barrier would cost
  // up to a millisecond until the ranks wake.
  void let_go();
  // Opens the gate for good, so that no stream is left waiting. A failure of the team opens it too.
  void open() noexcept;

 private:
  void watch();
  void arm(double deadline_seconds);

  Team& team_;
  Device& owner_;
  Buffer word_;
  int on_failure_ = 0;
  std::uint64_t round_ = 0;  // written by the first local rank, between two barriers of all ranks

  std::mutex mutex_;  // guards the members below
  std::condition_variable stopped_;
  double deadline_ = 0;  // steady clock, seconds; 0: nothing is held
  bool expired_ = false;
  bool stop_ = false;
  std::thread watchdog_;  // none on a simulated machine, which detects deadlocks itself
};

}  // namespace duet
