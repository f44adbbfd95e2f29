// Copies of one device beside all else, each followed by a call when it has ended.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"

namespace duet {

class CopyQueue {
 public:
  // The device must outlive it.
  explicit CopyQueue(Device& device) : device_(device), stream_(device.make_stream()) {}
  // Waits for the copies under way, whose memory may then go; calls nothing.
  ~CopyQueue();
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  // Enqueues; `then` is called by turn(), in the order of the copies.
  void start(const Span& destination, const Span& source, std::function<void()> then);
  // Calls what follows on the copies that have ended; whether any had. Throws what they threw.
  bool turn();

 private:
  struct UnderWay {
    std::unique_ptr<Event> end;
    std::function<void()> then;
  };

  std::unique_ptr<Event> take_event();

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::deque<UnderWay> under_way_;
  std::vector<std::unique_ptr<Event>> free_;
};

}  // namespace duet
