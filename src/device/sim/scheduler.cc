// Who has the turn, and when the clock moves on.
#include "device/sim/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/thread.h"
#include "core/units.h"

namespace duet::sim {

SimScheduler::SimScheduler(VirtualClock& clock, std::function<std::string()> blocked)
    : clock_(clock), blocked_(std::move(blocked)) {
  ranks_.emplace_back();
}

void SimScheduler::run(int ranks, const std::function<void(int)>& body) {
  if (running_) throw BadArgument("ranks of a simulated machine run already");
  if (ranks < 1) return;
  running_ = true;
  ranks_.clear();
  for (int rank = 0; rank < ranks; ++rank) ranks_.emplace_back();
  turn_ = ranks_.size();  // nobody's until all threads are there
  std::vector<std::thread> threads;
  try {
    threads.reserve(ranks_.size());
    for (int rank = 0; rank < ranks; ++rank) {
      threads.push_back(start_thread(fmt::format("thread {} of {}, one a rank", rank + 1, ranks),
                                     [this, rank, &body] { live(rank, body); }));
    }
  } catch (...) {
    failed_ = std::current_exception();
  }
  begin(threads.size());
  for (std::thread& thread : threads) thread.join();
  ranks_.clear();
  ranks_.emplace_back();
  turn_ = 0;
  running_ = false;
  if (failed_ != nullptr) std::rethrow_exception(std::exchange(failed_, nullptr));
}

// Gives the first rank its turn; where some have no thread, those that have one end.
void SimScheduler::begin(std::size_t threads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = threads; i < ranks_.size(); ++i) ranks_[i].alive = false;
  turn_ = 0;
  ranks_.front().wake.notify_one();
}

void SimScheduler::live(int rank, const std::function<void(int)>& body) {
  const std::size_t index = static_cast<std::size_t>(rank);
  std::unique_lock<std::mutex> lock(mutex_);
  Rank& self = ranks_[index];
  self.wake.wait(lock, [&] { return turn_ == index; });
  if (failed_ == nullptr) {
    lock.unlock();
    std::exception_ptr error;
    try {
      body(rank);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (failed_ == nullptr) failed_ = error;
  }
  self.alive = false;
  hand_on();
}

void SimScheduler::wait(const std::string& what, double deadline_seconds,
                        const std::function<bool()>& ready) {
  if (evaluating_) throw BadArgument(fmt::format("{}: waiting inside a condition or task", what));
  std::unique_lock<std::mutex> lock(mutex_);
  const std::size_t index = turn_;
  Rank& self = ranks_[index];
  self.what = what;
  self.deadline = clock_.now() + deadline_seconds;
  self.ready = &ready;
  self.waiting = true;
  hand_on();
  self.wake.wait(lock, [&] { return turn_ == index; });
  self.waiting = false;
  if (self.error != nullptr) std::rethrow_exception(std::exchange(self.error, nullptr));
}

void SimScheduler::update(const std::function<void()>& change) {
  if (evaluating_) return change();  // with the lock held already
  const std::lock_guard<std::mutex> lock(mutex_);
  change();
}

bool SimScheduler::look(double seconds, const std::function<bool()>& ready) {
  if (ready()) return true;
  if (evaluating_) return false;
  bool over = false;
  const VirtualClock::Id timer = clock_.after(seconds, [&over] { over = true; });
  try {
    wait("a look", std::numeric_limits<double>::infinity(), [&] { return over || ready(); });
  } catch (...) {
    clock_.cancel(timer);
    throw;
  }
  clock_.cancel(timer);
  return ready();
}

// With the lock held, by the rank that had the turn: it waits or has ended.
void SimScheduler::hand_on() {
  const auto lives = [](const Rank& rank) { return rank.alive; };
  while (std::any_of(ranks_.begin(), ranks_.end(), lives)) {
    if (failed_ != nullptr ? give_turn_to_failing() : give_turn_to_ready()) return;
    advance();
  }
}

bool SimScheduler::give_turn_to_ready() {
  for (std::size_t i = 1; i <= ranks_.size(); ++i) {
    const std::size_t next = (turn_ + i) % ranks_.size();
    Rank& rank = ranks_[next];
    if (!rank.alive || !is_ready(rank)) continue;
    turn_ = next;
    rank.wake.notify_one();
    return true;
  }
  return false;
}

// Where there is no memory for words of its own it is the first error itself.
std::exception_ptr SimScheduler::error_of_waiting(const Rank& rank) const {
  try {
    return std::make_exception_ptr(Error(rank.what + ": another rank failed"));
  } catch (const std::bad_alloc&) {
    return failed_;
  }
}

// After a failure every other rank leaves its wait, with an error of its own unless what it waits
// for is there.
bool SimScheduler::give_turn_to_failing() {
  for (std::size_t next = 0; next < ranks_.size(); ++next) {
    Rank& rank = ranks_[next];
    if (!rank.alive) continue;
    if (!is_ready(rank)) rank.error = error_of_waiting(rank);
    turn_ = next;
    rank.wake.notify_one();
    return true;
  }
  return false;
}

bool SimScheduler::is_ready(Rank& rank) {
  if (!rank.waiting || rank.error != nullptr) return true;
  evaluating_ = true;
  bool ready = true;
  try {
    ready = (*rank.ready)();
  } catch (...) {
    rank.error = std::current_exception();
  }
  evaluating_ = false;
  return ready;
}

SimScheduler::Rank* SimScheduler::most_urgent() {
  Rank* urgent = nullptr;
  for (Rank& rank : ranks_) {
    if (rank.alive && (urgent == nullptr || rank.deadline < urgent->deadline)) urgent = &rank;
  }
  return urgent;
}

// Everybody waits: lets the next thing happen, or ends a wait.
void SimScheduler::advance() {
  Rank& urgent = *most_urgent();
  evaluating_ = true;
  try {
    if (clock_.step(urgent.deadline)) {
      evaluating_ = false;
      return;
    }
    if (clock_.next() == std::numeric_limits<double>::infinity()) {
      throw Timeout(fmt::format("{}: deadlock at {}: nothing is pending, and {}{}", urgent.what,
                                format_seconds(clock_.now()), everybody(), blocked_()));
    }
    clock_.skip_to(urgent.deadline);
    throw Timeout(fmt::format("{}: gave up at {} of virtual time{}", urgent.what,
                              format_seconds(clock_.now()), blocked_()));
  } catch (...) {
    urgent.error = std::current_exception();
  }
  evaluating_ = false;
}

std::string SimScheduler::everybody() const {
  if (!running_) return fmt::format("the program waits for {}", ranks_.front().what);
  std::string text;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i].alive) continue;
    text += fmt::format("{}rank {} waits for {}", text.empty() ? "" : ", ", i, ranks_[i].what);
  }
  return text;
}

}  // namespace duet::sim
