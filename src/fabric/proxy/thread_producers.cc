// Threads that push; see thread_producers.h.
#include "fabric/proxy/thread_producers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "core/thread.h"

namespace duet {

ThreadProducers::ThreadProducers(Fifo& fifo, const ProducerTask& task)
    : fifo_(fifo),
      task_(task),
      shares_(static_cast<std::size_t>(task.producers)),
      running_(task.producers) {
  try {
    threads_.reserve(shares_.size());
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      shares_[i].pushes.reserve(task.messages / shares_.size() + 1);
      threads_.push_back(
          start_thread(fmt::format("thread {} of {}, one a producer", i + 1, shares_.size()),
                       [this, i] { produce(i, shares_[i]); }));
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

void ThreadProducers::produce(std::uint64_t first, Share& own) {
  const Fifo::Patience wait = [this] { return !stopped_.load(); };
  while (!begun_.load(std::memory_order_acquire) && wait()) std::this_thread::yield();
  std::uint64_t ticket = 0;
  for (std::uint64_t i = first; i < task_.messages && wait(); i += shares_.size()) {
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
  for (const Share& share : shares_) latest = std::max(latest, share.end);
  return latest;
}

std::vector<double> ThreadProducers::push_seconds() const {
  std::vector<double> all;
  for (const Share& share : shares_)
    all.insert(all.end(), share.pushes.begin(), share.pushes.end());
  return all;
}

}  // namespace duet
