#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "nccl_shim/host/graph.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::host {

// A stream as a thread that does one item after the other.
class HostStream {
 public:
  // Before each item it sleeps a random time of up to `delay_microseconds`.
  HostStream(unsigned delay_microseconds, unsigned seed);
  ~HostStream();  // behind all items

  const std::uint64_t id;  // no other has it

  void enqueue(std::function<void()> item);
  void synchronise();

  // As a GPU's capture: from here on items are kept and not done, until end_capture() gives them.
  // Streams that wait for an event of the capture join it until then.
  void begin_capture();
  std::shared_ptr<HostGraph> end_capture();
  // The stream's place in its capture; no graph: it is in none.
  struct Capture {
    std::shared_ptr<HostGraph> graph;
    std::size_t branch = 0;

    HostGraph::Position position() const { return graph->end_of(branch); }
  };
  Capture capture();
  void join(const std::shared_ptr<HostGraph>& graph);

  static HostStream& of(ShimDevice::Stream stream);

 private:
  void run();

  const unsigned delay_;
  std::mt19937 random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> items_;
  Capture capture_;
  bool busy_ = false, ending_ = false;
  std::thread thread_;
};

class HostEvent : public StreamEvent {
 public:
  void record(HostStream& stream);
  // For the last record before this call; at once if there is none. Throws BadArgument where one
  // of both is in a capture and the other is not in the same.
  void wait(HostStream& stream);
  bool done();

  // Of launches of graphs: what was recorded last in no capture, and a record that ends when it is
  // set.
  std::shared_ptr<std::atomic<bool>> last();
  std::shared_ptr<std::atomic<bool>> begin_record();

 private:
  using Done = std::atomic<bool>;
  std::mutex mutex_;
  std::shared_ptr<Done> last_;
  std::shared_ptr<HostGraph> graph_;  // of the last record, if that was in a capture
  HostGraph::Position behind_{};
};

}  // namespace duet::nccl_shim::host
