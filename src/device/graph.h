// A stream's work, captured and launched as a whole any number of times.
#pragma once

#include <functional>
#include <memory>

namespace duet {

class Stream;

class Graph {
 public:
  virtual ~Graph() = default;

  // Enqueues all of it: it starts after the stream's earlier work, and later work starts after it.
  // The stream is one of the device that captured. Launches on one stream run one after the other;
  // before one on another stream the last must have ended. The graph, and what it works on, must
  // live until its launches have ended.
  virtual void launch(Stream& stream) = 0;
};

// Records what `enqueue` puts on the stream, and on streams that fork from it and join it again by
// events, instead of running it. If `enqueue` throws, the capture is abandoned and the streams are
// as before. Throws Unavailable where the device cannot capture, or cannot capture what was
// enqueued.
std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& enqueue);

}  // namespace duet
