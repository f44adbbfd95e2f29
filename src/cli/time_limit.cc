#include "cli/time_limit.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "core/clock.h"

namespace duet {

TimeLimit::TimeLimit(double seconds, std::function<void()> last_act)
    : last_act_(std::move(last_act)), until_(steady_now() + seconds), thread_([this] { wait(); }) {}

void TimeLimit::restart(double seconds) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    until_ = steady_now() + seconds;
  }
  changed_.notify_all();
}

void TimeLimit::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TimeLimit::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!done_) {
    const double left = until_ - steady_now();
    if (left <= 0) {
      last_act_();
      _exit(1);
    }
    changed_.wait_for(lock, time_limit(left));
  }
}

}  // namespace duet
