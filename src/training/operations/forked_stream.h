#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "training/operations/step_timeline.h"

namespace duet {

// A second stream of a device, for what runs beside a main stream. Both can be captured together.
class ForkedStream {
 public:
  ForkedStream(Device& device, const StreamOptions& options)
      : device_(device), stream_(device.make_stream(options)) {}

  // Later work of this stream runs after all that `main` has now.
  Stream& fork(Stream& main);
  // The same with what `enqueue` enqueues. `what`: its name in a timeline.
  void run(Stream& main, const char* what, const std::function<void(Stream&)>& enqueue);
  // All that this stream has now, for wait(); until the first fork() after a join().
  Event& mark();
  void wait(Stream& main, Event& marked);
  // Later work of `main` runs after all that this stream has now. Ends what was begun by the
  // first fork().
  void join(Stream& main);
  // From now on, what runs here and how long `main` waits is written to the timeline, if there is
  // one.
  void set_timeline(StepTimeline* timeline) { timeline_ = timeline; }

 private:
  Event& next_event();

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Event>> events_;  // of forks, marks and the join, in their order
  std::size_t used_ = 0;
  StepTimeline* timeline_ = nullptr;
};

}  // namespace duet
