// Holds every rank's stream on its device until all ranks have enqueued, and releases them with
// one write a process, so that launch latency and the ranks' own skew stay out of the figures.
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
  // One word of pinned memory of the first local rank's device, which every device of the machine
  // can read.
  explicit StartGate(Team& team);
  ~StartGate();
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  // Inside Team::each(), by every rank. Later work of the stream waits for the next release(),
  // which must come within the deadline: a watchdog opens the gate then, so that a call that blocks
  // behind it comes back.
  void hold(Rank& rank, Stream& stream, double deadline_seconds);
  // Meets the other ranks, then lets all streams go; `then` is called right after, by the first
  // local rank. Throws Timeout if the watchdog had to.
  void release(Rank& rank, double deadline_seconds, const std::function<void()>& then = {});
  // Lets all streams go, for the first local rank in another gate's release(), where every rank
  // has come to hold(): ranks that meet wake up to a millisecond later than they should.
  void let_go();
  // Opens the gate for good, so that no stream is left waiting. A failure of the team does as much.
  void open() noexcept;

 private:
  void watch();
  void arm(double deadline_seconds);

  Team& team_;
  Device& owner_;
  Buffer word_;
  int on_failure_ = 0;
  std::uint64_t round_ = 0;  // written by the first local rank between two meetings of all ranks

  std::mutex mutex_;  // guards what follows
  std::condition_variable stopped_;
  double deadline_ = 0;  // steady clock, seconds; 0: nothing is held
  bool expired_ = false;
  bool stop_ = false;
  std::thread watchdog_;  // none on a simulated machine, which sees its own deadlocks
};

}  // namespace duet
