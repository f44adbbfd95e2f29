#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace duet {

// A second stream of a device, for what runs beside a main stream. Both can be captured together.
class ForkedStream {
 public:
  ForkedStream(Device& device, const StreamOptions& options)
      : device_(device), stream_(device.make_stream(options)) {}

  // What this stream gets next runs behind all that `main` has now.
  Stream& fork(Stream& main);
  // All that this stream has now, for main.wait(); until the first fork() behind a join().
  Event& mark();
  // What `main` gets next runs behind all that this stream has now. Ends what was begun by the
  // first fork().
  void join(Stream& main);

 private:
  Event& next_event();

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Event>> events_;  // of forks, marks and the join, in their order
  std::size_t used_ = 0;
};

}  // namespace duet
