#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace duet::nccl_shim {

class PairCopies;

// A thread that lets every communicator of this process look after its peers, ten times a second.
// It makes no call of a device. It starts with the first communicator.
class Guard {
 public:
  ~Guard();

  void add(PairCopies& communicator);  // throws Unavailable where no thread can be started
  // When it returns, the thread does not use the communicator any more.
  void remove(PairCopies& communicator);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<PairCopies*> communicators_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace duet::nccl_shim
