#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "fabric/proxy/producers.h"

namespace duet {

// Threads of the CPU that push.
class ThreadProducers : public Producers {
 public:
  ThreadProducers(Fifo& fifo, const ProducerTask& task);
  ~ThreadProducers() override;
  ThreadProducers(const ThreadProducers&) = delete;
  ThreadProducers& operator=(const ThreadProducers&) = delete;

  void begin() override { begun_.store(true, std::memory_order_release); }
  bool ended() override { return running_.load(std::memory_order_acquire) == 0; }
  double end() const override;
  std::vector<double> push_seconds() const override;

 private:
  struct ProducerResult {
    double end = 0;
    std::vector<double> pushes;
  };

  void stop();
  void produce(std::uint64_t first, ProducerResult& own);

  Fifo& fifo_;
  const ProducerTask task_;
  std::vector<ProducerResult> results_;  // by thread
  std::atomic<bool> begun_{false}, stopped_{false};
  std::atomic<int> running_;
  std::vector<std::thread> threads_;
};

}  // namespace duet
