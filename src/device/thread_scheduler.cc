// Ranks are threads that sleep on one condition variable. When a rank fails, the waits of the
// others throw.
#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"
#include "device/rank_scheduler.h"

namespace duet {
namespace {

class ThreadScheduler : public RankScheduler {
 public:
  void run(int ranks, const std::function<void(int)>& body) override {
    error_ = nullptr;
    start_ = Start::held;
    std::vector<std::thread> threads;
    try {
      threads.reserve(static_cast<std::size_t>(ranks));
      for (int rank = 1; rank < ranks; ++rank) {
        threads.push_back(start_thread(fmt::format("thread {} of {}, one a rank", rank + 1, ranks),
                                       [this, rank, &body] {
                                         if (begins()) guard(rank, body);
                                       }));
      }
    } catch (...) {
      update([this] { start_ = Start::given_up; });
      for (std::thread& thread : threads) thread.join();
      throw;
    }
    update([this] { start_ = Start::begun; });
    guard(0, body);
    for (std::thread& thread : threads) thread.join();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void wait(const std::string& what, double deadline_seconds,
            const std::function<bool()>& ready) override {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto over = [&] { return error_ != nullptr || ready(); };
    const bool in_time = changed_.wait_for(lock, time_limit(deadline_seconds), over);
    if (ready()) return;
    if (error_ != nullptr) throw Error(fmt::format("{}: another rank failed", what));
    if (!in_time) throw Timeout(fmt::format("{}: gave up after {} s", what, deadline_seconds));
  }

  void update(const std::function<void()>& change) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    change();
    changed_.notify_all();
  }

 private:
  // Ranks wait for each other, so none begins before all threads have been started.
  enum class Start { held, begun, given_up };

  bool begins() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return start_ != Start::held; });
    return start_ == Start::begun;
  }

  void guard(int rank, const std::function<void(int)>& body) {
    try {
      body(rank);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (error_ == nullptr) error_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Start start_ = Start::held;  // guarded by mutex_
  std::exception_ptr error_;   // of the first rank that failed; guarded by mutex_
};

}  // namespace

std::unique_ptr<RankScheduler> make_thread_scheduler() {
  return std::make_unique<ThreadScheduler>();
}

}  // namespace duet
