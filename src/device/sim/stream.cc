#include "device/sim/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace duet::sim {

SimStream::SimStream(SimDevice& device, const StreamOptions& options)
    : device_(device),
      machine_(device.machine()),
      priority_(std::clamp(options.priority, 0, device.info().priorities - 1)),
      units_(options.units > 0 ? options.units : device.info().compute_units) {
  check_units(device.info(), options.units);
  number_ = machine_.add(this);
}

SimStream::~SimStream() {
  machine_.clock().cancel(pending_);
  device_.dispatcher().cancel(kernel_);
  machine_.remove(this);
  device_.stop_waiting_for_engine(this);
  if (!operations_.empty()) {
    if (const auto* await = std::get_if<WaitEventOp>(&operations_.front())) {
      auto& waiting = await->recording->waiting;
      waiting.erase(std::remove(waiting.begin(), waiting.end(), this), waiting.end());
    }
  }
  if (holds_engine_) device_.return_engine();
}

std::string SimStream::name() const {
  return fmt::format("stream {} of {}", number_, device_.info().name);
}

std::string SimStream::blocked() const {
  if (!busy_ || operations_.empty()) return "";
  if (const auto* op = std::get_if<WaitSemaphoreOp>(&operations_.front());
      op && waits_for_semaphore_) {
    return fmt::format("a semaphore to be >= {}, which is {}", op->value,
                       machine_.memory().semaphore(op->semaphore));
  }
  if (std::holds_alternative<WaitEventOp>(operations_.front())) return "an event";
  return "";
}

void SimStream::enqueue_copy(const Copy& copy) {
  const MemoryLocation source = machine_.memory().require_own(copy.source, "copy's source");
  const MemoryLocation destination =
      machine_.memory().require_own(copy.destination, "copy's destination");
  if (copy.source.bytes != copy.destination.bytes) {
    throw BadArgument(fmt::format("{}: a copy of {} bytes to {} bytes", device_.info().name,
                                  copy.source.bytes, copy.destination.bytes));
  }
  if (copy.source.owner != &device_ && copy.destination.owner != &device_) {
    throw BadArgument(fmt::format("{}: a copy from {} to {}: expected one side to be its own",
                                  device_.info().name, copy.source.owner->info().name,
                                  copy.destination.owner->info().name));
  }
  Issuer by = issuer();
  if (!machine_.costs().same_node(source.device, destination.device)) by.rail = device_.next_rail();
  push(CopyOp{copy, machine_.costs().copy(copy, source, destination, by)});
}

void SimStream::enqueue_fill(const Span& span, const Fill& fill) {
  const MemoryLocation location = machine_.memory().require_own(span, "span to fill");
  const double bytes = static_cast<double>(span.bytes);
  push(FillOp{span, fill, machine_.costs().fill(bytes, location, issuer())});
}

void SimStream::enqueue_run(const Task& task) {
  push(TaskOp{task, machine_.costs().task(task, issuer())});
}

void SimStream::enqueue_signal(const Semaphore& semaphore, std::uint64_t value) {
  const MemoryLocation word = machine_.memory().require_semaphore(semaphore);
  push(SignalOp{semaphore, value, machine_.costs().signal_latency(word, issuer())});
}

void SimStream::enqueue_wait(const Semaphore& semaphore, std::uint64_t value) {
  machine_.memory().require_semaphore(semaphore);
  push(WaitSemaphoreOp{semaphore, value, machine_.costs().wait_latency()});
}

void SimStream::enqueue_launch(PreparedKernel& prepared) {
  auto* own = dynamic_cast<SimKernel*>(&prepared);
  if (own == nullptr || &own->device() != &device_) {
    throw BadArgument(fmt::format("{}: another device's kernel", device_.info().name));
  }
  if (own->is_ordered()) return push_ordered_items(*own);
  const std::uint64_t call = own->next_call();
  if (own->opens()) push_barrier(*own, 2 * call + 1);
  OperationCost cost = own->cost();
  cost.flow.priority = priority_;
  push(KernelOp{own, std::move(cost)});
  if (own->closes()) push_barrier(*own, 2 * call + 2);
}

// The items run within one kernel: only the first one has the launch latency, and semaphores that
// an item writes are seen after a link's latency.
void SimStream::push_ordered_items(SimKernel& kernel) {
  const std::vector<LocalKernelItem>& items = kernel.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const Semaphore& semaphore : items[i].waits) push(WaitSemaphoreOp{semaphore, 1, 0});
    push(ItemOp{&kernel, i, machine_.costs().kernel_item(kernel.locations(), i, issuer())});
    for (const Semaphore& semaphore : items[i].waits) push(SignalOp{semaphore, 0, 0});
    for (const Semaphore& semaphore : items[i].signals) {
      const MemoryLocation word = machine_.memory().require_semaphore(semaphore);
      push(SignalOp{semaphore, 1, machine_.costs().write_latency(word, issuer())});
    }
  }
}

// A running kernel polls, so it sees a word as soon as the write has arrived.
void SimStream::push_barrier(SimKernel& kernel, std::uint64_t value) {
  if (const auto count = kernel.count()) {
    push(ArriveOp{&kernel, 0, machine_.costs().arrival_latency(kernel.locations(), issuer())});
    push(WaitSemaphoreOp{*count, kernel.next_count(), 0});
    return;
  }
  if (kernel.awaits().empty()) return;
  push(ArriveOp{&kernel, value, machine_.costs().arrival_latency(kernel.locations(), issuer())});
  for (const Semaphore& semaphore : kernel.awaits()) push(WaitSemaphoreOp{semaphore, value, 0});
}

void SimStream::push(Op op) {
  operations_.push_back(std::move(op));
  start_next();
}

// A loop, because an operation that takes no time ends within start(). A long row of them must not
// recurse.
void SimStream::start_next() {
  if (starting_) return;
  starting_ = true;
  while (!busy_ && !operations_.empty()) {
    busy_ = true;
    std::visit([this](const auto& op) { start(op); }, operations_.front());
  }
  starting_ = false;
}

void SimStream::take_time(const OperationCost& cost) {
  pending_ = machine_.clock().after(cost.latency, [this, &cost] {
    pending_ = 0;
    if (cost.flow.amount <= 0) return end();
    Flow flow = cost.flow;
    flow.occupancy.units = std::min(flow.occupancy.units, units_);
    if (flow.occupancy.resource < 0 || cost.resident) {
      pending_ = machine_.clock().start(std::move(flow), [this] { end(); });
    } else {
      kernel_ = device_.dispatcher().start(std::move(flow), [this] { end(); });
    }
  });
}

void SimStream::end_after(double seconds) {
  pending_ = machine_.clock().after(seconds, [this] { end(); });
}

void SimStream::start(const CopyOp& op) {
  if (!op.cost.takes_engine) return take_time(op.cost);
  if (device_.take_engine(this)) engine_granted();
}

void SimStream::engine_granted() {
  holds_engine_ = true;
  take_time(std::get<CopyOp>(operations_.front()).cost);
}

void SimStream::start(const RecordOp& op) {
  const std::shared_ptr<Recording> recording = op.recording;
  recording->reached = true;
  recording->seconds = machine_.clock().now();
  recording->device = &device_;
  end();
  for (SimStream* stream : std::exchange(recording->waiting, {})) stream->event_reached();
}

void SimStream::start(const WaitEventOp& op) {
  if (op.recording->reached) return end();
  op.recording->waiting.push_back(this);
}

void SimStream::event_reached() { end(); }

void SimStream::start(const WaitSemaphoreOp& op) {
  if (semaphore_reached()) return end_after(op.latency);
  waits_for_semaphore_ = true;
  machine_.wait_for(op.semaphore, this);
}

bool SimStream::semaphore_reached() const {
  const WaitSemaphoreOp& op = std::get<WaitSemaphoreOp>(operations_.front());
  return machine_.memory().semaphore(op.semaphore) >= op.value;
}

void SimStream::resume_after_semaphore() {
  waits_for_semaphore_ = false;
  end_after(std::get<WaitSemaphoreOp>(operations_.front()).latency);
}

// Ends the front operation: writes its results and starts the next operation.
void SimStream::end() {
  pending_ = 0;
  kernel_ = 0;
  std::visit([this](const auto& op) { write_results(op); }, operations_.front());
  operations_.pop_front();
  busy_ = false;
  if (std::exchange(holds_engine_, false)) device_.return_engine();
  start_next();
}

void SimStream::write_results(const CopyOp& op) {
  machine_.memory().move(op.copy.destination, op.copy.source);
  machine_.memory_written(op.copy.destination);
}

void SimStream::write_results(const FillOp& op) {
  machine_.memory().fill(op.span, op.fill);
  machine_.memory_written(op.span);
}

void SimStream::write_results(const SignalOp& op) {
  machine_.memory().set_semaphore(op.semaphore, op.value);
  machine_.memory_written(op.semaphore.word);
}

void SimStream::write_results(const ArriveOp& op) {
  if (const auto count = op.kernel->count()) {
    if (op.kernel->arrive()) machine_.memory_written(count->word);
    return;
  }
  for (const Semaphore& semaphore : op.kernel->arrivals()) {
    machine_.memory().set_semaphore(semaphore, op.value);
    machine_.memory_written(semaphore.word);
  }
}

void SimStream::write_results(const TaskOp& op) {
  if (!op.task.body) return;
  try {
    op.task.body();
  } catch (...) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
  machine_.memory().changed_anywhere();
  machine_.any_memory_written();
}

bool SimStream::idle() {
  require_not_captured();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  const bool over = machine_.sim_scheduler().poll(machine_.platform().host.poll_seconds,
                                                  [this] { return operations_.empty(); });
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  return over;
}

void SimStream::synchronize(double deadline_seconds) {
  require_not_captured();
  machine_.scheduler().wait(name(), deadline_seconds, [this] { return operations_.empty(); });
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace duet::sim
