// Capture for devices without graphs of their own: calls are recorded, and a launch makes them
// again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "device/graph.h"

namespace duet {

class RecordableStream;

// The recorded calls of one capture. Each stream of the capture is a lane. Lane 0 is the stream
// that began the capture; another stream joins when it waits for an event that was recorded in the
// capture. Not thread-safe.
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

}  // namespace duet
