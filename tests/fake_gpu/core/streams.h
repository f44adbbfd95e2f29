// The stand-in's streams, events and captures. A stream is a thread that runs its operations in
// order, each when it is ready.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "hip/hip_runtime_api.h"

namespace fake_gpu {

struct Operation {
  std::function<void()> run;
  std::function<bool()> ready;  // empty: at once
};

// The place of an event in a stream.
struct Mark {
  std::atomic<bool> reached{false};
  double seconds = 0;  // when it was reached
};

// What comes before a place in a capture: of each stream, how many of its nodes.
using Before = std::map<const void*, std::size_t>;

struct Capture {
  hipStream_t origin = nullptr;
  std::vector<hipStream_t> streams;
  std::vector<std::function<void()>> nodes;  // each after those that it depends on
  Before all;                                // of each stream, how many nodes there are
  bool invalid = false;
};

// The queue outlives the stream: destroyed streams complete their work.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  void start();  // its thread
  void push(Operation operation);
  void close();  // no operation will follow
  bool idle() const;

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;  // the first one runs, or waits until it is ready
  bool closed_ = false;
};

// Whether all queues of the device became idle within the time.
bool wait_for_device(int device, double seconds);

}  // namespace fake_gpu

struct ihipStream_t {
  int device = 0;
  std::shared_ptr<fake_gpu::Queue> queue;
  std::shared_ptr<fake_gpu::Capture> capture;  // null: it is not captured
  fake_gpu::Before before;                     // of its next node in the capture
};

struct ihipEvent_t {
  int device = 0;
  unsigned flags = 0;
  std::shared_ptr<fake_gpu::Mark> mark;        // null: not recorded, or recorded in a capture
  std::shared_ptr<fake_gpu::Capture> capture;  // in which it was recorded
  fake_gpu::Before before;
};

struct ihipGraph {
  std::vector<std::function<void()>> nodes;
};
struct hipGraphExec {
  std::shared_ptr<const std::vector<std::function<void()>>> nodes;
  int device = 0;
};

namespace fake_gpu {

hipStream_t make_stream(int device);
void destroy_stream(hipStream_t stream);
hipStream_t default_stream(int device);

// Enqueues work on a stream, or adds it to the stream's capture.
hipError_t enqueue(hipStream_t stream, std::function<void()> work);

double now();  // seconds

}  // namespace fake_gpu
