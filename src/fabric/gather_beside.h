// A gathering of processes on a thread of its own, for who must go on polling meanwhile.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "team/processes.h"

namespace duet {

class GatherBeside {
 public:
  // As Processes::gather_all().
  GatherBeside(Processes& processes, std::string mine, std::string what, double deadline_seconds);
  // Where nobody took the result, the others' waits end with an error.
  ~GatherBeside();
  GatherBeside(const GatherBeside&) = delete;
  GatherBeside& operator=(const GatherBeside&) = delete;

  bool done() const { return done_.load(std::memory_order_acquire); }
  // When it is done. Throws what gather_all() threw.
  std::vector<std::string> take();

 private:
  Processes& processes_;
  std::vector<std::string> all_;
  std::exception_ptr error_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace duet
