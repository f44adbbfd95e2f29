// The threads of host devices. A stream is a queue, not a thread: a worker takes the first
// operation of the most urgent queue whose operation is ready, so a queue that waits for a
// semaphore occupies no worker.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace duet::host {

// Work on fewer bytes is not divided among workers.
inline constexpr std::size_t kParallelBytes = 1 << 20;

struct Operation {
  std::function<bool()> ready;  // empty: always; called with the lock held, must be quick
  std::function<void()> body;
  bool polled = false;  // another process may make it ready, which wakes nobody here
};

struct Queue {
  int priority = 0;
  std::deque<Operation> operations;  // the front one stays while it runs
  bool running = false;
  std::uint64_t last_served = 0;  // of equal priority the queue that waited longest is served first
  std::exception_ptr error;       // of the first operation that threw; later ones still run
};

// What the devices of one machine share: the lock, and the signal that something has changed.
class MachineSync {
 public:
  std::mutex mutex;
  std::condition_variable changed;  // a queue ran empty, an event was reached

  // Wakes workers of every device that has something to do, except of the caller's own pool: waking
  // costs microseconds, between two operations of a stream. To be called with the lock held.
  void poke(const class Workers* own = nullptr);

 private:
  friend class Workers;
  std::vector<class Workers*> pools_;
};

// The workers of one device, bound to its cores. Threads that OpenMP starts in a task inherit the
// worker's cores. The idle worker with the lowest number is woken first, so that a single stream
// stays on one worker and OpenMP has one team of threads.
class Workers {
 public:
  // `device` names them in messages. Throws Error where threads cannot start.
  Workers(MachineSync& sync, std::vector<int> cores, const std::string& device);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int cores() const { return static_cast<int>(cores_.size()); }
  void add(Queue* queue);
  // Drops operations that have not started and waits for one that has.
  void remove(Queue* queue);
  void push(Queue* queue, Operation operation);

  // Runs part(0) .. part(parts - 1) on the caller and on idle workers; returns when all are done.
  // Callable from any thread, without the lock. Parts must not throw.
  void parallel(int parts, const std::function<void(int)>& part);

 private:
  friend class MachineSync;
  struct Worker {
    std::thread thread;
    std::condition_variable wake;
    bool idle = false;
  };

  void stop();
  void loop(Worker& self);
  bool take_part(std::unique_lock<std::mutex>& lock);
  bool take_operation(std::unique_lock<std::mutex>& lock);
  Queue* next_queue();
  bool must_poll() const;
  void sleep(Worker& self, std::unique_lock<std::mutex>& lock);
  void wake_one();

  MachineSync& sync_;
  std::vector<int> cores_;
  std::vector<Queue*> queues_;
  std::deque<std::function<void()>> parts_;
  std::uint64_t served_ = 0;
  long polled_ = 0;       // operations in the queues that are polled
  bool polling_ = false;  // a worker polls them
  bool stop_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace duet::host
