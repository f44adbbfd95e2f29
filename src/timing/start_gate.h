// Holds every rank's stream on its device until all ranks have enqueued. Each process releases its
// streams with one write. Launch latency and skew between ranks thus stay out of the samples.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "team/team.h"

namespace duet {

// Far more than any calls take that only enqueue.
inline constexpr double kEnqueueSeconds = 30;

// How many calls of a work are made before any is made behind a gate. At the first call a library
// loads its kernels; with several processes it may at the second call unmap memory that another
// rank freed before the first. Loading and unmapping wait for all work of the device, and so never
// end behind a held stream.
inline int ungated_calls(Team& team) { return team.processes() != nullptr ? 2 : 1; }

class StartGate {
 public:
  // Allocates the gate's semaphore in pinned memory of the first local rank's device, which every
  // device of the machine can read.
  explicit StartGate(Team& team);
  ~StartGate();
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  // Collective, inside Team::each(). Later work of `stream` waits for the next release(). If this
  // rank does not call release() within the deadline, or kEnqueueSeconds if that is less, a call
  // that should only enqueue blocks, perhaps because a launch queue is full: a watchdog then opens
  // the gate and fails the team, whose gates of other processes open too, so that the call returns.
  // 0: no deadline, where that of another gate covers this rank's calls.
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
  std::optional<Rank> overdue();
  void arm(const Rank& rank, double deadline_seconds);
  void require_not_blocked();

  Team& team_;
  Device& owner_;
  Buffer word_;
  int on_failure_ = 0;
  std::uint64_t round_ = 0;  // written by the first local rank, between two barriers of all ranks

  std::mutex mutex_;  // guards the members below
  std::condition_variable stopped_;
  // By local rank: until when it may enqueue. Steady clock, seconds; 0: it does not.
  std::vector<double> deadlines_;
  double allowed_ = 0;   // seconds
  std::string blocked_;  // why the watchdog has opened the gate
  bool stop_ = false;
  std::thread watchdog_;  // none on a simulated machine, which detects deadlocks itself
};

}  // namespace duet
