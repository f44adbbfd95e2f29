// A thread that gathers; see gather_beside.h.
#include "fabric/gather_beside.h"

#include <utility>

#include "core/thread.h"

namespace duet {

GatherBeside::GatherBeside(Processes& processes, std::string mine, std::string what,
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

GatherBeside::~GatherBeside() {
  if (!thread_.joinable()) return;
  if (!done()) processes_.fail("its rails failed while the others finished");
  thread_.join();
}

std::vector<std::string> GatherBeside::take() {
  thread_.join();
  if (error_ != nullptr) std::rethrow_exception(error_);
  return std::move(all_);
}

}  // namespace duet
