#include "fabric/proxy/thread_producers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "core/thread.h"

namespace duet {

ThreadProducers::ThreadProducers(Fifo& fifo, const ProducerTask& task)
    : fifo_(fifo),
      task_(task),
      results_(static_cast<std::size_t>(task.producers)),
      running_(task.producers) {
  try {
    threads_.reserve(results_.size());
    for (std::size_t i = 0; i < results_.size(); ++i) {
      results_[i].pushes.reserve(task.messages / results_.size() + 1);
      threads_.push_back(
          start_thread(fmt::format("thread {} of {}, one a producer", i + 1, results_.size()),
                       [this, i] { produce(i, results_[i]); }));
    }
  } catch (...) {
    stop();
    throw;
  }
}

ThreadProducers::~ThreadProducers() { stop(); }

void ThreadProducers::stop() {
  stopped_.store(true);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadProducers::produce(std::uint64_t first, ProducerResult& own) {
  const Fifo::KeepWaiting wait = [this] { return !stopped_.load(); };
  while (!begun_.load(std::memory_order_acquire) && wait()) std::this_thread::yield();
  std::uint64_t ticket = 0;
  for (std::uint64_t i = first; i < task_.messages && wait(); i += results_.size()) {
    const double begin = steady_now();
    ticket = fifo_.push({i, begin}, wait);
    own.pushes.push_back(steady_now() - begin);
    if (task_.blocking) fifo_.quiet(ticket, wait);
  }
  fifo_.quiet(ticket, wait);
  own.end = steady_now();
  running_.fetch_sub(1, std::memory_order_release);
}

double ThreadProducers::end() const {
  double latest = 0;
  for (const ProducerResult& result : results_) latest = std::max(latest, result.end);
  return latest;
}

std::vector<double> ThreadProducers::push_seconds() const {
  std::vector<double> all;
  for (const ProducerResult& result : results_)
    all.insert(all.end(), result.pushes.begin(), result.pushes.end());
  return all;
}

}  // namespace duet
