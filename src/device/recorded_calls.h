// Capture for devices without graphs of their own: calls are recorded, and a launch makes them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "device/graph.h"

namespace duet {

class RecordableStream;

// The calls on the streams of one capture. Each stream is a lane; the first is the one that began
// the capture, another joins by waiting for an event that was recorded in it. One thread at a time
// uses it.
class RecordedCalls {
 public:
  struct Call {
    std::size_t lane;
    std::function<void(Stream&)> make;
  };

  explicit RecordedCalls(RecordableStream& origin);

  bool began_on(const RecordableStream& stream) const { return lanes_.front().stream == &stream; }
  void call(const RecordableStream& stream, std::function<void(Stream&)> make);
  // Returns the number under which wait() knows this recording; its event is the graph's own.
  std::size_t record(RecordableStream& stream);
  void wait(RecordableStream& stream, std::size_t recording);

  // Throws BadArgument if a lane has work that no event brings back to the first.
  std::unique_ptr<Graph> graph();

  std::vector<RecordableStream*> streams() const;
  void forget(const RecordableStream& stream) noexcept;  // it is gone; its calls stay

 private:
  struct CapturedStream {
    RecordableStream* stream;  // nullptr: gone
    Device* device;
    int priority;
    std::size_t calls = 0;
    bool open = false;  // its last calls are not waited for by another lane
  };
  struct Recording {
    std::size_t lane;
    std::size_t calls;  // of its lane, with this one
    std::shared_ptr<Event> event;
  };

  std::size_t lane_of(const RecordableStream& stream) const;

  std::vector<CapturedStream> lanes_;
  std::vector<Call> calls_;
  std::vector<Recording> recordings_;
};

}  // namespace duet
