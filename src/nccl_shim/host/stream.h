#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::host {

// A stream as a thread that does one item after the other.
class HostStream {
 public:
  // Before each item it sleeps a random time of up to `delay_microseconds`.
  HostStream(unsigned delay_microseconds, unsigned seed);
  ~HostStream();  // behind all items

  void enqueue(std::function<void()> item);
  void synchronise();

  // As a GPU's capture: from here on items are kept and not done, until end_capture() gives them.
  void begin_capture();
  std::vector<std::function<void()>> end_capture();
  bool capturing();

  static HostStream& of(ShimDevice::Stream stream) { return *static_cast<HostStream*>(stream); }

 private:
  void run();

  const unsigned delay_;
  std::mt19937 random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> items_;
  std::vector<std::function<void()>> captured_;
  bool busy_ = false, ending_ = false, capturing_ = false;
  std::thread thread_;
};

class HostEvent : public StreamEvent {
 public:
  void record(HostStream& stream);
  void wait(HostStream& stream);  // for the last record before this call; at once if there is none
  bool done();

 private:
  using Done = std::atomic<bool>;
  std::mutex mutex_;
  std::shared_ptr<Done> last_;
};

}  // namespace duet::nccl_shim::host
