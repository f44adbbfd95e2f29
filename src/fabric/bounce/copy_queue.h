#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"

namespace duet {

// Asynchronous copies on one stream of a device. Each is followed by a callback when it has ended.
class CopyQueue {
 public:
  // The device must outlive it.
  explicit CopyQueue(Device& device) : device_(device), stream_(device.make_stream()) {}
  // Waits for the copies in flight, so that their memory may be freed; makes no callbacks.
  ~CopyQueue();
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  // Enqueues a copy; progress() calls `then` when it has ended, in the order of the copies.
  void start(const Span& destination, const Span& source, std::function<void()> then);
  // Makes the callbacks of the copies that have ended; true if there were any. Throws what they
  // throw.
  bool progress();

 private:
  struct PendingCopy {
    std::unique_ptr<Event> end;
    std::function<void()> then;
  };

  std::unique_ptr<Event> take_event();

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::deque<PendingCopy> in_flight_;
  std::vector<std::unique_ptr<Event>> free_events_;
};

}  // namespace duet
