#pragma once

#include <functional>
#include <memory>

namespace duet {

class Stream;

// A stream's captured work, which can be launched as a whole any number of times.
class Graph {
 public:
  virtual ~Graph() = default;

  // Enqueues the captured work, in order with the stream's earlier and later work.
  // - The stream must belong to the device on which the graph was captured.
  // - Launches on one stream run one after the other. Before a launch on another stream, the
  //   previous launch must have ended.
  // - The graph and the memory that it uses must live until all launches have ended.
  virtual void launch(Stream& stream) = 0;

  // How many operations were captured: kernels, copies, waits and so on.
  virtual std::size_t size() const = 0;
};

// Captures the work that `enqueue` puts on the stream, and on streams that fork from it and join it
// again by events. The work is recorded and does not run. If `enqueue` throws, the capture is
// abandoned and the streams are as before. Throws Unavailable where the device cannot capture, or
// cannot capture this work.
std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& enqueue);

}  // namespace duet
