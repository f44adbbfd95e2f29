// Streams and events of simulated devices.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "device/recordable_stream.h"
#include "device/sim/costs.h"
#include "device/sim/kernel.h"
#include "device/sim/machine.h"

namespace duet::sim {

// An event's state outlives its handle while operations on it are queued: hence shared.
struct Moment {
  const SimMachine* machine = nullptr;
  std::uint64_t recorded = 0;
  std::uint64_t reached = 0;
  double seconds = 0;
  const Device* device = nullptr;   // that reached it
  std::vector<SimStream*> waiting;  // in the order in which they came
};

class SimEvent : public RecordableEvent {
 public:
  explicit SimEvent(SimMachine& machine);
  bool done() override;
  void synchronize(double deadline_seconds) override;
  double seconds_since(const Event& earlier) const override;

  const std::shared_ptr<Moment>& moment() const { return moment_; }

 private:
  SimMachine& machine_;
  std::shared_ptr<Moment> moment_;
};

class SimStream : public RecordableStream {
 public:
  SimStream(SimDevice& device, const StreamOptions& options);
  // What has not ended never happens.
  ~SimStream() override;

  Device& device() override { return device_; }
  int priority() const override { return priority_; }
  bool idle() override;
  void synchronize(double deadline_seconds) override;

  int number() const { return number_; }
  std::string name() const;
  std::string blocked() const;  // what it waits for that no time brings; "" if nothing

  // Of the machine and the device, when what the stream waits for is there.
  bool semaphore_reached() const;
  void go_on_after_semaphore();
  void has_engine();
  void event_reached();

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
    Charge charge;
  };
  struct FillOp {
    Span span;
    Fill fill;
    Charge charge;
  };
  struct TaskOp {
    Task task;
    Charge charge;
  };
  struct RecordOp {
    std::shared_ptr<Moment> moment;
    std::uint64_t number;
  };
  struct AwaitOp {
    std::shared_ptr<Moment> moment;
    std::uint64_t number;
  };
  struct SignalOp {
    Semaphore semaphore;
    std::uint64_t value;
    double latency;
  };
  struct SemaphoreOp {
    Semaphore semaphore;
    std::uint64_t value;
    double latency;  // after the word has come
  };
  struct ArriveOp {  // at a kernel's barrier
    const SimKernel* kernel;
    std::uint64_t value;
    double latency;
  };
  struct KernelOp {
    SimKernel* kernel;
    Charge charge;
  };
  struct ItemOp {  // one item of an ordered kernel
    SimKernel* kernel;
    std::size_t item;
    Charge charge;
  };
  using Op = std::variant<CopyOp, FillOp, TaskOp, RecordOp, AwaitOp, SignalOp, SemaphoreOp,
                          ArriveOp, KernelOp, ItemOp>;

  Issuer issuer() const { return {device_.index(), priority_}; }
  void push_ordered_items(SimKernel& kernel);
  void push_barrier(SimKernel& kernel, std::uint64_t value);
  void push(Op op);
  void pump();
  void begin(const Charge& charge);
  void pass(double seconds);
  void end();

  void start(const CopyOp& op);
  void start(const FillOp& op) { begin(op.charge); }
  void start(const TaskOp& op) { begin(op.charge); }
  void start(const RecordOp& op);
  void start(const AwaitOp& op);
  void start(const SignalOp& op) { pass(op.latency); }
  void start(const SemaphoreOp& op);
  void start(const ArriveOp& op) { pass(op.latency); }
  void start(const KernelOp& op) { begin(op.charge); }
  void start(const ItemOp& op) { begin(op.charge); }

  void leave_behind(const CopyOp& op);
  void leave_behind(const FillOp& op);
  void leave_behind(const TaskOp& op);
  void leave_behind(const RecordOp&) {}
  void leave_behind(const AwaitOp&) {}
  void leave_behind(const SignalOp& op);
  void leave_behind(const SemaphoreOp&) {}
  void leave_behind(const ArriveOp& op);
  void leave_behind(const KernelOp& op) { op.kernel->leave_behind(); }
  void leave_behind(const ItemOp& op) { op.kernel->leave_behind(op.item); }

  SimDevice& device_;
  SimMachine& machine_;
  int priority_;
  double units_;  // that its kernels may occupy
  int number_;
  std::deque<Op> operations_;  // the front one stays until it has ended
  bool busy_ = false;          // the front one has started
  bool pumping_ = false;
  bool holds_engine_ = false;
  bool waits_for_semaphore_ = false;
  VirtualClock::Id pending_ = 0;  // timer or flow of the front one
  Dispatcher::Id kernel_ = 0;     // of the front one
  std::exception_ptr error_;      // of the first task that threw; later work still runs
};

}  // namespace duet::sim
