#include "fabric/background_gather.h"

#include <utility>

#include "core/thread.h"

namespace duet {

BackgroundGather::BackgroundGather(Processes& processes, std::string mine, std::string what,
                                   double deadline_seconds)
    : processes_(processes),
      thread_(start_thread("the thread that gathers", [this, mine = std::move(mine),
                                                       what = std::move(what), deadline_seconds] {
        try {
          all_ = processes_.gather_all(mine, what, deadline_seconds);
        } catch (...) {
          error_ = std::current_exception();
        }
        done_.store(true, std::memory_order_release);
      })) {}

BackgroundGather::~BackgroundGather() {
  if (!thread_.joinable()) return;
  if (!done()) processes_.fail("its rails failed while the others finished");
  thread_.join();
}

std::vector<std::string> BackgroundGather::take() {
  thread_.join();
  if (error_ != nullptr) std::rethrow_exception(error_);
  return std::move(all_);
}

}  // namespace duet
