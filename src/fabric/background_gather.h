#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "team/processes.h"

namespace duet {

// Processes::gather_all() on a thread of its own, for callers that must go on polling meanwhile.
class BackgroundGather {
 public:
  BackgroundGather(Processes& processes, std::string mine, std::string what,
                   double deadline_seconds);
  // If the gather has not ended, fails the run, so that the other processes do not wait for it.
  ~BackgroundGather();
  BackgroundGather(const BackgroundGather&) = delete;
  BackgroundGather& operator=(const BackgroundGather&) = delete;

  bool done() const { return done_.load(std::memory_order_acquire); }
  // After done(): the result. Throws what gather_all() threw.
  std::vector<std::string> take();

 private:
  Processes& processes_;
  std::vector<std::string> all_;
  std::exception_ptr error_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace duet
