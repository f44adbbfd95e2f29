// Streams and events of `host` and `sim`, whose calls can be captured.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "device/graph.h"

namespace duet {

class RecordableStream;

// Capture for devices without graphs of their own: calls are recorded, and a launch makes them
// again. These are the calls of one capture. Each stream of the capture is a lane. Lane 0 is the
// stream that began the capture; another stream joins when it waits for an event that was recorded
// in the capture. Not thread-safe.
class RecordedCalls {
 public:
  struct Call {
    std::size_t lane;
    std::function<void(Stream&)> make;
  };

  explicit RecordedCalls(RecordableStream& origin);

  bool began_on(const RecordableStream& stream) const { return lanes_.front().stream == &stream; }
  void call(const RecordableStream& stream, std::function<void(Stream&)> make);
  // Records an event, which belongs to the graph, and returns the recording's number for wait().
  std::size_t record(RecordableStream& stream);
  void wait(RecordableStream& stream, std::size_t recording);

  // Ends the capture. Throws BadArgument if a lane has work for which lane 0 does not wait by an
  // event.
  std::unique_ptr<Graph> graph();

  std::vector<RecordableStream*> streams() const;
  void forget(const RecordableStream& stream) noexcept;  // the stream is destroyed; its calls stay

 private:
  struct CapturedStream {
    RecordableStream* stream;  // nullptr: destroyed
    Device* device;
    int priority;
    std::size_t calls = 0;
    bool open = false;  // no other lane waits for its last calls
  };
  struct Recording {
    std::size_t lane;
    std::size_t calls;  // number of calls of the lane up to and including this recording
    std::shared_ptr<Event> event;
  };

  std::size_t lane_of(const RecordableStream& stream) const;

  std::vector<CapturedStream> lanes_;
  std::vector<Call> calls_;
  std::vector<Recording> recordings_;
};

class RecordableEvent : public Event {
 private:
  friend class RecordableStream;
  std::weak_ptr<RecordedCalls> capture_;  // the capture in which the event was last recorded
  std::size_t recording_ = 0;
};

// Executes its calls at once or, during a capture, records them. An error in a recorded call is
// thrown when the graph is launched. All streams and events of a capture must be used by one
// thread.
class RecordableStream : public Stream {
 public:
  RecordableStream() = default;
  RecordableStream(const RecordableStream&) = delete;
  RecordableStream& operator=(const RecordableStream&) = delete;
  ~RecordableStream() override;

  void copy(const Copy& copy) final;
  void fill(const Span& span, const Fill& fill) final;
  void record(Event& event) final;
  void wait(Event& event) final;
  void signal(const Semaphore& semaphore, std::uint64_t value) final;
  void wait(const Semaphore& semaphore, std::uint64_t value) final;
  void launch(PreparedKernel& prepared) final;
  void run(const Task& task) final;

  void begin_capture() final;
  std::unique_ptr<Graph> end_capture() final;
  void abandon_capture() noexcept final;

  virtual int priority() const = 0;

 protected:
  // Throws BadArgument during a capture. For calls that query or wait for work, since a stream that
  // is being captured has no running work.
  void require_not_captured();

 private:
  virtual void enqueue_copy(const Copy& copy) = 0;
  virtual void enqueue_fill(const Span& span, const Fill& fill) = 0;
  virtual void enqueue_record(Event& event) = 0;
  virtual void enqueue_wait(Event& event) = 0;
  virtual void enqueue_signal(const Semaphore& semaphore, std::uint64_t value) = 0;
  virtual void enqueue_wait(const Semaphore& semaphore, std::uint64_t value) = 0;
  virtual void enqueue_launch(PreparedKernel& prepared) = 0;
  virtual void enqueue_run(const Task& task) = 0;

  std::shared_ptr<RecordedCalls> capture_;  // the capture that this stream is part of, or null
};

}  // namespace duet
