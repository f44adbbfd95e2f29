#include "collectives/nccl/within.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"

namespace duet::nccl {

void within(double deadline_seconds, const std::string& what, const std::function<bool()>& given_up,
            std::function<void()> call) {
  constexpr std::chrono::milliseconds kTick(20);  // interval at which given_up() is checked
  std::packaged_task<void()> task(std::move(call));
  std::future<void> done = task.get_future();
  std::thread thread = start_thread("the thread for " + what, std::move(task));
  const auto deadline = SteadyClock::now() + std::chrono::duration<double>(deadline_seconds);
  try {
    while (done.wait_for(kTick) != std::future_status::ready) {
      if (given_up()) throw Error(fmt::format("{}: aborted, because another rank failed", what));
      if (SteadyClock::now() > deadline) {
        throw Timeout(fmt::format("{}: not done after {:.0f} s", what, deadline_seconds));
      }
    }
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();  // the call is done; the thread still destroys what the call owned
  done.get();
}

}  // namespace duet::nccl
