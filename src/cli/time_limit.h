#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace duet {

// Ends the process when its time is over, even if a driver's call does not return.
class TimeLimit {
 public:
  // `last_act` is called by a thread of its own before the process ends with code 1.
  TimeLimit(double seconds, std::function<void()> last_act);
  ~TimeLimit() { end(); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  // The time begins again.
  void restart(double seconds);
  // From now on the process is not ended. Does not return if its time is over already.
  void end();

 private:
  void wait();

  std::function<void()> last_act_;
  std::mutex mutex_;  // guards the two members below
  double until_ = 0;  // by the steady clock
  bool done_ = false;
  std::condition_variable changed_;
  std::thread thread_;  // the last member, because the thread uses all others
};

// What a run is doing, for the line that is written when its time is over.
class RunStep {
 public:
  void set(std::string text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_ = std::move(text);
  }
  std::string text() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_ = "opening the devices";
};

}  // namespace duet
