// The threads of host devices. A stream is a queue, not a thread. Of the queues whose first
// operation is ready, a worker takes the one with the highest priority and runs that operation. A
// queue that waits for a semaphore therefore occupies no worker. What takes no time needs none
// (Operation::Runs::at_once).
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
  // Whether the operation may start; empty: always. It is called with the lock held and must be
  // quick.
  std::function<bool()> ready;
  std::function<void()> body;  // empty, of one that runs at once: it only waits
  // Where and when the body runs.
  enum class Runs {
    by_worker,  // without the lock, by a worker of the device
    // With the lock held, by the thread that made it ready, or found it so: quick, does not throw,
    // takes no lock and enqueues nothing.
    at_once,
  };
  Runs runs = Runs::by_worker;
  bool polled = false;        // another process may make it ready, which wakes no worker here
  bool copies = false;        // counted by wait_for_room()
  bool awaits_event = false;  // of a stream, which may be destroyed: finish() does not wait for it
};

// The operations of one stream, in order.
struct Queue {
  // Whether the front operation is of this kind and may start. Another process may make a polled
  // one ready at any time, so that two calls may differ.
  bool is_ready(Operation::Runs runs) const;

  int priority = 0;                  // higher runs sooner
  std::deque<Operation> operations;  // the front one stays while it runs
  bool running = false;              // a worker runs the front one
  std::uint64_t last_served = 0;  // of equal priority the queue that waited longest is served first
  std::exception_ptr error;       // of the first operation that threw; later ones still run
  std::condition_variable changed;  // it became empty, or a copy of it has ended
};

// The lock that the devices of one machine share.
class MachineSync {
 public:
  std::mutex mutex;
  std::condition_variable emptied;  // some queue became empty

  // After a semaphore was written or an operation has ended: runs every operation that runs at once
  // and is ready, and wakes a worker of every device that has another one to run. A worker passes
  // its own pool as `own`, which is left out: that worker takes the operation itself, and waking
  // another would cost microseconds between two operations of a stream. Call with the lock held.
  void advance(const class Workers* own = nullptr);

 private:
  friend class Workers;
  std::vector<class Workers*> pools_;
};

// The workers of one device, bound to its cores. Threads that OpenMP starts in a task inherit the
// worker's cores. The idle worker with the lowest number is woken first, so that a single stream
// stays on one worker and OpenMP has one team of threads.
class Workers {
 public:
  // Starts a thread per core, at least two. `device` names them in messages. Throws Error if a
  // thread cannot start.
  Workers(MachineSync& sync, std::vector<int> cores, const std::string& device);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int cores() const { return static_cast<int>(cores_.size()); }
  // The caller keeps the queue, which must live until remove().
  void add(Queue* queue);
  // Drops operations that have not started and waits for one that has.
  void remove(Queue* queue);
  // Runs the operation at once, or wakes a worker if one is needed.
  void push(Queue* queue, Operation operation);
  // Waits until the queue has fewer than `most` copies. Returns false if that takes longer.
  bool wait_for_room(Queue& queue, std::size_t most, double deadline_seconds);
  // Waits until all queues are empty or wait for an event that nothing on this device is going to
  // record. Returns false if that takes longer.
  bool finish(double deadline_seconds);

  // Runs part(0) .. part(parts - 1) on the caller and on idle workers; returns when all are done.
  // Callable from any thread, without the lock. Parts must not throw.
  void parallel(int parts, const std::function<void(int)>& part);

 private:
  friend class MachineSync;
  struct Worker {
    std::thread thread;
    std::condition_variable wake;
    bool idle = false;
    bool woken = false;  // and has not yet looked for work
  };

  void stop();
  void loop(Worker& self);
  bool take_part(std::unique_lock<std::mutex>& lock);
  bool take_operation(std::unique_lock<std::mutex>& lock);
  bool run_at_once();  // whether there was any operation of this kind that was ready
  void end_first(Queue& queue);
  Queue* next_queue();
  bool must_poll() const;
  void sleep(Worker& self, std::unique_lock<std::mutex>& lock);
  void wake_if_needed();
  void wake_one();

  MachineSync& sync_;
  std::vector<int> cores_;
  std::vector<Queue*> queues_;
  std::deque<std::function<void()>> parts_;  // of parallel() calls, not started yet
  std::uint64_t served_ = 0;                 // operations that have started
  long polled_ = 0;                          // queued operations with Operation::polled
  bool polling_ = false;                     // a worker wakes by itself to poll them
  std::size_t woken_ = 0;                    // workers that are Worker::woken
  bool stop_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace duet::host
