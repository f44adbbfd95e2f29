#include "device/graph.h"

#include "device/stream.h"

namespace duet {

std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& enqueue) {
  stream.begin_capture();
  try {
    enqueue();
  } catch (...) {
    stream.abandon_capture();
    throw;
  }
  return stream.end_capture();
}

}  // namespace duet
