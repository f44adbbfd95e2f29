// CPU threads that stand for a GPU's blocks: they push commands for messages that lie ready, and
// wait for them to be done after each (blocking) or after the last one.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "fabric/proxy/fifo.h"

namespace duet {

class Producers {
 public:
  // Message i is pushed by thread i modulo their number. The threads wait for begin().
  Producers(Fifo& fifo, int threads, std::uint64_t messages, bool blocking);
  // Lets the threads go, whatever they wait for.
  ~Producers();
  Producers(const Producers&) = delete;
  Producers& operator=(const Producers&) = delete;

  void begin() { begun_.store(true, std::memory_order_release); }
  // Have all threads seen their last command done?
  bool ended() const { return running_.load(std::memory_order_acquire) == 0; }
  // Then: when the last one did, in seconds, and how long each push took.
  double end() const;
  std::vector<double> push_seconds() const;

 private:
  struct Share {
    double end = 0;
    std::vector<double> pushes;
  };

  void produce(std::uint64_t first, Share& own);

  Fifo& fifo_;
  const std::uint64_t messages_;
  const bool blocking_;
  std::vector<Share> shares_;  // by thread
  std::atomic<bool> begun_{false}, stopped_{false};
  std::atomic<int> running_;
  std::vector<std::thread> threads_;
};

}  // namespace duet
