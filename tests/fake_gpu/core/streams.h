// Streams and events (../README.md). A stream is a thread that runs its operations in order, each
// when it is ready.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

#include "fake_gpu/core/graph.h"

namespace fake_gpu {

double now();  // seconds

// Polls as a GPU does, and after a while less often.
void wait_until(const std::function<bool()>& holds);

struct Operation {
  std::function<void()> run;    // empty: nothing
  std::function<bool()> ready;  // empty: at once

  void perform() const;
};

// What runs a stream's operations. It outlives the stream: destroyed streams complete their work.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  // Before each operation it sleeps a random time of up to `delay_microseconds`.
  explicit Queue(unsigned delay_microseconds = 0, unsigned seed = 0)
      : delay_(delay_microseconds), random_(seed) {}
  void start();  // its thread
  void push(Operation operation);
  void close();  // no operation will follow
  bool idle() const;
  void synchronise();

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;  // the first one runs, or waits until it is ready
  bool closed_ = false;
  const unsigned delay_;
  std::mt19937 random_;
};

class Stream {
 public:
  // The delay: as Queue's.
  Stream(int of_device, unsigned delay_microseconds = 0, unsigned seed = 0);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const int device;
  const std::uint64_t id;  // no other has it; never 0

  // Of a handle: the stream's address, or 2, which names one of the calling thread.
  static Stream& of(void* handle);

  // In a capture, adds a node. Throws CaptureError in an invalid one.
  void enqueue(std::function<void()> run, std::function<bool()> ready = {});
  bool idle() const { return queue_->idle(); }
  void synchronise() { queue_->synchronise(); }

  // From here on operations are kept and not run, until end_capture() gives them. Streams that wait
  // for an event of the capture join it until then. Throws CaptureError.
  void begin_capture();
  std::shared_ptr<Graph> end_capture();
  // The stream's place in its capture; no graph: it is in none.
  struct Capture {
    std::shared_ptr<Graph> graph;
    std::size_t branch = 0;

    const Position& position() const { return graph->end_of(branch); }
  };
  Capture capture() const;
  void join(const std::shared_ptr<Graph>& graph);

 private:
  const std::shared_ptr<Queue> queue_;
  mutable std::mutex mutex_;
  mutable Capture capture_;
};

// Whether all streams of the device became idle within the time, destroyed ones included.
bool wait_for_device(int device, double seconds);

// The place of an event in a stream.
struct Mark {
  std::atomic<bool> reached{false};
  std::atomic<double> seconds{0};  // when it was reached

  void reach();
};

// Thread-safe.
class Event {
 public:
  // `before` is called there before the event counts as reached.
  void record(Stream& stream, std::function<void()> before = {});
  // For the last record before this call, and calls `then`; at once if there is none. Throws
  // CaptureError, and makes the stream's capture invalid, where one of both is in a capture and the
  // other is not in the same.
  void wait(Stream& stream, std::function<void()> then = {});
  bool captured() const;  // the last record was in a capture
  bool done() const;      // true as well if that is so

  // Recorded last in no capture; null if never.
  std::shared_ptr<Mark> last() const;
  std::shared_ptr<Mark> begin_record();  // which ends when the mark is reached

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> last_;
  std::shared_ptr<Graph> graph_;  // of the last record, if that was in a capture
  Position behind_;
};

}  // namespace fake_gpu
