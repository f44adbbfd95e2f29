#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/host/device.h"
#include "device/recordable_stream.h"

namespace duet::host {

// One record() of an event, for the waits behind it. sync.mutex guards it.
struct HostRecording {
  bool reached = false;
  double seconds = 0;  // when its stream reached it, by steady_now()
};

// The state of an event. It is shared, because queued operations may outlive the event. sync.mutex
// guards all other members.
struct HostEventState {
  explicit HostEventState(MachineSync& of) : sync(of) {}

  MachineSync& sync;
  std::shared_ptr<HostRecording> last;  // nullptr: never recorded
  std::condition_variable reached;      // some recording was
  bool done() const { return last == nullptr || last->reached; }
};

class HostEvent : public RecordableEvent {
 public:
  explicit HostEvent(HostDevice& device);
  bool done() override;
  void synchronize(double deadline_seconds) override;
  double seconds_since(const Event& earlier) const override;

  const std::shared_ptr<HostEventState>& state() const { return state_; }

 private:
  std::string device_;
  std::shared_ptr<HostEventState> state_;
};

class HostKernel;

// A queue of operations for the workers of its device. The destructor drops operations that have
// not started and waits for one that has.
class HostStream : public RecordableStream {
 public:
  // `priority` is clamped to what the device has.
  HostStream(HostDevice& device, int priority);
  ~HostStream() override;

  Device& device() override { return device_; }
  int priority() const override { return queue_.priority; }
  bool idle() override;
  void synchronize(double deadline_seconds) override;

 private:
  void enqueue_copy(const Copy& copy) override;
  void enqueue_fill(const Span& span, const Fill& fill) override;
  void enqueue_record(Event& event) override;
  void enqueue_wait(Event& event) override;
  void enqueue_signal(const Semaphore& semaphore, std::uint64_t value) override;
  void enqueue_wait(const Semaphore& semaphore, std::uint64_t value) override;
  void enqueue_run(const Task& task) override;
  void enqueue_launch(PreparedKernel& prepared) override;
  void wait_for_room();
  // Enqueue an operation of this kind, with these members.
  void at_once(std::function<bool()> ready, std::function<void()> body, bool polled = false);
  void by_worker(std::function<void()> body);
  void push_ordered_items(const HostKernel& kernel);
  void rethrow();  // throws and clears the error of the first operation that threw

  HostDevice& device_;
  Queue queue_;
};

}  // namespace duet::host
