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
  if (inside_run_) throw BadArgument("ranks of a simulated machine run already");
  if (ranks < 1) return;
  inside_run_ = true;
  ranks_.clear();
  for (int rank = 0; rank < ranks; ++rank) ranks_.emplace_back();
  running_rank_ = ranks_.size();  // none until all threads are there
  std::vector<std::thread> threads;
  try {
    threads.reserve(ranks_.size());
    for (int rank = 0; rank < ranks; ++rank) {
      threads.push_back(start_thread(fmt::format("thread {} of {}, one a rank", rank + 1, ranks),
                                     [this, rank, &body] { run_rank(rank, body); }));
    }
  } catch (...) {
    failed_ = std::current_exception();
  }
  start_first(threads.size());
  for (std::thread& thread : threads) thread.join();
  ranks_.clear();
  ranks_.emplace_back();
  running_rank_ = 0;
  inside_run_ = false;
  if (failed_ != nullptr) std::rethrow_exception(std::exchange(failed_, nullptr));
}

// Starts the first rank. Ranks for which no thread could start count as ended; failed_ then ends
// the others.
void SimScheduler::start_first(std::size_t threads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = threads; i < ranks_.size(); ++i) ranks_[i].alive = false;
  running_rank_ = 0;
  ranks_.front().wake.notify_one();
}

void SimScheduler::run_rank(int rank, const std::function<void(int)>& body) {
  const std::size_t index = static_cast<std::size_t>(rank);
  std::unique_lock<std::mutex> lock(mutex_);
  SimulatedRank& self = ranks_[index];
  self.wake.wait(lock, [&] { return running_rank_ == index; });
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
  schedule_next();
}

void SimScheduler::wait(const std::string& what, double deadline_seconds,
                        const std::function<bool()>& ready) {
  if (evaluating_) throw BadArgument(fmt::format("{}: waiting inside a condition or task", what));
  std::unique_lock<std::mutex> lock(mutex_);
  const std::size_t index = running_rank_;
  SimulatedRank& self = ranks_[index];
  self.what = what;
  self.deadline = clock_.now() + deadline_seconds;
  self.ready = &ready;
  self.waiting = true;
  schedule_next();
  self.wake.wait(lock, [&] { return running_rank_ == index; });
  self.waiting = false;
  if (self.error != nullptr) std::rethrow_exception(std::exchange(self.error, nullptr));
}

void SimScheduler::update(const std::function<void()>& change) {
  if (evaluating_) return change();  // the lock is held already
  const std::lock_guard<std::mutex> lock(mutex_);
  change();
}

bool SimScheduler::poll(double seconds, const std::function<bool()>& ready) {
  if (ready()) return true;
  if (evaluating_) return false;
  bool over = false;
  const VirtualClock::Id timer = clock_.after(seconds, [&over] { over = true; });
  try {
    wait("a poll", std::numeric_limits<double>::infinity(), [&] { return over || ready(); });
  } catch (...) {
    clock_.cancel(timer);
    throw;
  }
  clock_.cancel(timer);
  return ready();
}

// Runs events until a rank is ready and starts that rank. Called with the lock held by the rank
// that ran until now and waits or has ended.
void SimScheduler::schedule_next() {
  const auto lives = [](const SimulatedRank& rank) { return rank.alive; };
  while (std::any_of(ranks_.begin(), ranks_.end(), lives)) {
    if (failed_ != nullptr ? resume_after_failure() : resume_ready()) return;
    advance();
  }
}

bool SimScheduler::resume_ready() {
  for (std::size_t i = 1; i <= ranks_.size(); ++i) {
    const std::size_t next = (running_rank_ + i) % ranks_.size();
    SimulatedRank& rank = ranks_[next];
    if (!rank.alive || !is_ready(rank)) continue;
    running_rank_ = next;
    rank.wake.notify_one();
    return true;
  }
  return false;
}

// Falls back to the first error if there is no memory for another message.
std::exception_ptr SimScheduler::error_of_waiting(const SimulatedRank& rank) const {
  try {
    return std::make_exception_ptr(Error(rank.what + ": another rank failed"));
  } catch (const std::bad_alloc&) {
    return failed_;
  }
}

// After a failure every other rank leaves its wait, one after the other: with an error, unless its
// condition holds.
bool SimScheduler::resume_after_failure() {
  for (std::size_t next = 0; next < ranks_.size(); ++next) {
    SimulatedRank& rank = ranks_[next];
    if (!rank.alive) continue;
    if (!is_ready(rank)) rank.error = error_of_waiting(rank);
    running_rank_ = next;
    rank.wake.notify_one();
    return true;
  }
  return false;
}

bool SimScheduler::is_ready(SimulatedRank& rank) {
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

SimScheduler::SimulatedRank* SimScheduler::nearest_deadline() {
  SimulatedRank* urgent = nullptr;
  for (SimulatedRank& rank : ranks_) {
    if (rank.alive && (urgent == nullptr || rank.deadline < urgent->deadline)) urgent = &rank;
  }
  return urgent;
}

// Called when all ranks wait: runs the next event, or ends the wait with the nearest deadline.
void SimScheduler::advance() {
  SimulatedRank& urgent = *nearest_deadline();
  evaluating_ = true;
  try {
    if (clock_.step(urgent.deadline)) {
      evaluating_ = false;
      return;
    }
    if (clock_.next() == std::numeric_limits<double>::infinity()) {
      throw Timeout(fmt::format("{}: deadlock at {}: nothing is pending, and {}{}", urgent.what,
                                format_seconds(clock_.now()), waits_of_all(), blocked_()));
    }
    clock_.skip_to(urgent.deadline);
    throw Timeout(fmt::format("{}: gave up at {} of virtual time{}", urgent.what,
                              format_seconds(clock_.now()), blocked_()));
  } catch (...) {
    urgent.error = std::current_exception();
  }
  evaluating_ = false;
}

std::string SimScheduler::waits_of_all() const {
  if (!inside_run_) return fmt::format("the program waits for {}", ranks_.front().what);
  std::string text;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i].alive) continue;
    text += fmt::format("{}rank {} waits for {}", text.empty() ? "" : ", ", i, ranks_[i].what);
  }
  return text;
}

}  // namespace duet::sim
