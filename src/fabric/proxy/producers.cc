#include "fabric/proxy/producers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"

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

// Blocks of a GPU that push.
class DeviceProducers : public Producers {
 public:
  DeviceProducers(Device& device, Fifo& fifo, const ProducerTask& task);
  ~DeviceProducers() override;
  DeviceProducers(const DeviceProducers&) = delete;
  DeviceProducers& operator=(const DeviceProducers&) = delete;

  void begin() override;
  bool ended() override;
  double end() const override { return end_; }
  std::vector<double> push_seconds() const override;
  double clock_offset() const override { return offset_; }

 private:
  PushControl& control() const { return *reinterpret_cast<PushControl*>(control_.span().data); }
  void compare_clocks();

  ProducerTask task_;
  Buffer control_, push_nanoseconds_;  // pinned
  Buffer counts_;                      // the device's own
  std::unique_ptr<Stream> stream_;
  double offset_ = 0, end_ = 0;
  int polls_ = 0;
};

namespace {

constexpr int kPings = 32;
constexpr double kAnswerSeconds = 10;
constexpr int kPollsPerStreamCheck = 4096;  // asking the stream costs more than a load

std::uint64_t load(const std::uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void store(std::uint64_t& word, std::uint64_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

}  // namespace

DeviceProducers::DeviceProducers(Device& device, Fifo& fifo, const ProducerTask& task)
    : task_(task),
      control_(device.allocate(sizeof(PushControl), MemoryKind::pinned)),
      push_nanoseconds_(device.allocate(task.messages * sizeof(std::uint64_t), MemoryKind::pinned)),
      counts_(device.allocate(sizeof(PushCounts))),
      stream_(device.make_stream()) {
  std::memset(control_.span().data, 0, sizeof(PushControl));
  const PushCounts none{};
  device.write(counts_.span(), &none);
  CommandPushes pushes;
  pushes.counters = fifo.device_counters();
  pushes.slots = fifo.device_slots();
  pushes.counts = reinterpret_cast<PushCounts*>(counts_.span().data);
  pushes.capacity = fifo.capacity();
  pushes.commands = task.messages;
  pushes.blocks = task.producers;
  pushes.blocking = task.blocking;
  pushes.control = &control();
  pushes.push_nanoseconds = reinterpret_cast<std::uint64_t*>(push_nanoseconds_.span().data);
  auto* const pusher = dynamic_cast<CommandPusher*>(stream_.get());
  if (pusher == nullptr) {
    throw Unavailable(device.info().name + " has no threads but the CPU's to push commands");
  }
  pusher->push_commands(pushes);
  try {
    compare_clocks();
  } catch (...) {
    store(control().stop, 1);
    throw;
  }
}

DeviceProducers::~DeviceProducers() {
  store(control().stop, 1);
  try {
    stream_->synchronize(kAnswerSeconds);
  } catch (const std::exception&) {
    // The device is lost, and its memory with it.
  }
}

// Takes the fastest of several answers, and assumes that the device read its clock halfway.
void DeviceProducers::compare_clocks() {
  double fastest = std::numeric_limits<double>::infinity();
  for (std::uint64_t ping = 1; ping <= kPings; ++ping) {
    const double asked = steady_now();
    store(control().ping, ping);
    double answered = asked;
    while (load(control().pong) != ping) {
      if (answered - asked > kAnswerSeconds) {
        throw Timeout("waited 10 s for the device's producers to start");
      }
      answered = steady_now();
    }
    answered = steady_now();
    if (answered - asked >= fastest) continue;
    fastest = answered - asked;
    offset_ = (asked + answered) / 2 - 1e-9 * static_cast<double>(control().pong_nanoseconds);
  }
}

void DeviceProducers::begin() { store(control().begin, 1); }

bool DeviceProducers::ended() {
  if (load(control().ended) != 0) {
    if (end_ == 0) end_ = steady_now();
    return true;
  }
  // Throws if the kernel failed.
  if (++polls_ % kPollsPerStreamCheck == 0) static_cast<void>(stream_->idle());
  return false;
}

std::vector<double> DeviceProducers::push_seconds() const {
  const auto* nanoseconds = reinterpret_cast<const std::uint64_t*>(push_nanoseconds_.span().data);
  std::vector<double> all;
  for (std::uint64_t i = 0; i < task_.messages; ++i) {
    all.push_back(1e-9 * static_cast<double>(nanoseconds[i]));
  }
  return all;
}

std::unique_ptr<Producers> make_producers(Device& device, Fifo& fifo, const ProducerTask& task) {
  if (device.info().cpu_addressable) return std::make_unique<ThreadProducers>(fifo, task);
  return std::make_unique<DeviceProducers>(device, fifo, task);
}

}  // namespace duet
