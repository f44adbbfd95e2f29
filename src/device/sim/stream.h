#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/recordable_stream.h"
#include "device/sim/costs.h"
#include "device/sim/kernel.h"
#include "device/sim/machine.h"

namespace duet::sim {

// One record() of an event, for the waits behind it. Queued operations may outlive the event.
struct Recording {
  bool reached = false;
  double seconds = 0;               // when its stream reached it
  const Device* device = nullptr;   // of that stream
  std::vector<SimStream*> waiting;  // in the order in which they began to wait
};

class SimEvent : public RecordableEvent {
 public:
  explicit SimEvent(SimMachine& machine);
  bool done() override;
  void synchronize(double deadline_seconds) override;
  double seconds_since(const Event& earlier) const override;

  const SimMachine& machine() const { return machine_; }
  const std::shared_ptr<Recording>& last() const { return last_; }
  void set_last(std::shared_ptr<Recording> recording) { last_ = std::move(recording); }

 private:
  bool is_done() const { return last_ == nullptr || last_->reached; }

  SimMachine& machine_;
  std::shared_ptr<Recording> last_;  // nullptr: never recorded
};

// A stream of a simulated device: a queue of operations with their costs. An operation's results
// are written when its virtual time has passed. Only the running rank may call it (scheduler.h).
class SimStream : public RecordableStream {
 public:
  // Throws as Device::make_stream() states.
  SimStream(SimDevice& device, const StreamOptions& options);
  // Drops operations that have not ended.
  ~SimStream() override;

  Device& device() override { return device_; }
  int priority() const override { return priority_; }
  bool idle() override;
  void synchronize(double deadline_seconds) override;

  int number() const { return number_; }
  std::string name() const;
  std::string blocked() const;  // the semaphore or event that the stream waits for; "": none

  // Whether the semaphore that the stream waits for has its value.
  bool semaphore_reached() const;
  void resume_after_semaphore();  // called by the machine when semaphore_reached()
  void engine_granted();          // called by the device when the stream has a DMA engine
  void event_reached();           // called by the stream that reached the recording

 private:
  void enqueue_copy(const Copy& copy) override;
  void enqueue_fill(const Span& span, const Fill& fill) override;
  void enqueue_record(Event& event) override;
  void enqueue_wait(Event& event) override;
  void enqueue_signal(const Semaphore& semaphore, std::uint64_t value) override;
  void enqueue_wait(const Semaphore& semaphore, std::uint64_t value) override;
  void enqueue_run(const Task& task) override;
  void enqueue_launch(PreparedKernel& prepared) override;

  struct CopyOp {
    Copy copy;
    OperationCost cost;
  };
  struct FillOp {
    Span span;
    Fill fill;
    OperationCost cost;
  };
  struct TaskOp {
    Task task;
    OperationCost cost;
  };
  struct RecordOp {
    std::shared_ptr<Recording> recording;
  };
  struct WaitEventOp {
    std::shared_ptr<Recording> recording;
  };
  struct SignalOp {
    Semaphore semaphore;
    std::uint64_t value;
    double latency;
  };
  struct WaitSemaphoreOp {
    Semaphore semaphore;
    std::uint64_t value;
    double latency;  // from when the word has its value until the stream goes on
  };
  struct ArriveOp {  // arrival at a kernel's barrier
    const SimKernel* kernel;
    std::uint64_t value;
    double latency;
  };
  struct KernelOp {
    SimKernel* kernel;
    OperationCost cost;
  };
  struct ItemOp {  // one item of an ordered kernel
    SimKernel* kernel;
    std::size_t item;
    OperationCost cost;
  };
  using Op = std::variant<CopyOp, FillOp, TaskOp, RecordOp, WaitEventOp, SignalOp, WaitSemaphoreOp,
                          ArriveOp, KernelOp, ItemOp>;

  Issuer issuer() const { return {device_.index(), priority_}; }
  void push_ordered_items(SimKernel& kernel);
  void push_barrier(SimKernel& kernel, std::uint64_t value);
  void push(Op op);
  void start_next();
  void take_time(const OperationCost& cost);
  void end_after(double seconds);
  void end();

  void start(const CopyOp& op);
  void start(const FillOp& op) { take_time(op.cost); }
  void start(const TaskOp& op) { take_time(op.cost); }
  void start(const RecordOp& op);
  void start(const WaitEventOp& op);
  void start(const SignalOp& op) { end_after(op.latency); }
  void start(const WaitSemaphoreOp& op);
  void start(const ArriveOp& op) { end_after(op.latency); }
  void start(const KernelOp& op) { take_time(op.cost); }
  void start(const ItemOp& op) { take_time(op.cost); }

  void write_results(const CopyOp& op);
  void write_results(const FillOp& op);
  void write_results(const TaskOp& op);
  void write_results(const RecordOp&) {}
  void write_results(const WaitEventOp&) {}
  void write_results(const SignalOp& op);
  void write_results(const WaitSemaphoreOp&) {}
  void write_results(const ArriveOp& op);
  void write_results(const KernelOp& op) { op.kernel->write_results(); }
  void write_results(const ItemOp& op) { op.kernel->write_results(op.item); }

  SimDevice& device_;
  SimMachine& machine_;
  int priority_;
  double units_;  // the most that its kernels may occupy
  int number_;
  std::deque<Op> operations_;  // the front one stays until it has ended
  bool busy_ = false;          // the front one has started
  bool starting_ = false;      // inside start_next()
  bool holds_engine_ = false;
  bool waits_for_semaphore_ = false;
  VirtualClock::Id pending_ = 0;  // timer or flow of the front operation; 0: none
  Dispatcher::Id kernel_ = 0;     // kernel of the front operation; 0: none
  std::exception_ptr error_;      // of the first task that threw; later work still runs
};

}  // namespace duet::sim
