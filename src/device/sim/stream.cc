// How a simulated stream's operations start, pass and end.
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
  device_.forget(this);
  if (!operations_.empty()) {
    if (const auto* await = std::get_if<AwaitOp>(&operations_.front())) {
      auto& waiting = await->moment->waiting;
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
  if (const auto* op = std::get_if<SemaphoreOp>(&operations_.front()); op && waits_for_semaphore_) {
    return fmt::format("a semaphore to be >= {}, which is {}", op->value,
                       machine_.memory().semaphore(op->semaphore));
  }
  if (std::holds_alternative<AwaitOp>(operations_.front())) return "an event";
  return "";
}

void SimStream::enqueue_copy(const Copy& copy) {
  const Place source = machine_.memory().require_own(copy.source, "copy's source");
  const Place destination = machine_.memory().require_own(copy.destination, "copy's destination");
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
  const Place place = machine_.memory().require_own(span, "span to fill");
  const double bytes = static_cast<double>(span.bytes);
  push(FillOp{span, fill, machine_.costs().fill(bytes, place, issuer())});
}

void SimStream::enqueue_run(const Task& task) {
  push(TaskOp{task, machine_.costs().task(task, issuer())});
}

void SimStream::enqueue_signal(const Semaphore& semaphore, std::uint64_t value) {
  const Place word = machine_.memory().require_semaphore(semaphore);
  push(SignalOp{semaphore, value, machine_.costs().signal(word, issuer())});
}

void SimStream::enqueue_wait(const Semaphore& semaphore, std::uint64_t value) {
  machine_.memory().require_semaphore(semaphore);
  push(SemaphoreOp{semaphore, value, machine_.costs().wait()});
}

void SimStream::enqueue_launch(PreparedKernel& prepared) {
  auto* own = dynamic_cast<SimKernel*>(&prepared);
  if (own == nullptr || &own->device() != &device_) {
    throw BadArgument(fmt::format("{}: another device's kernel", device_.info().name));
  }
  if (own->is_ordered()) return push_ordered_items(*own);
  const std::uint64_t call = own->next_call();
  if (own->opens()) push_barrier(*own, 2 * call + 1);
  Charge charge = own->charge();
  charge.flow.priority = priority_;
  push(KernelOp{own, std::move(charge)});
  if (own->closes()) push_barrier(*own, 2 * call + 2);
}

// Within a running kernel: nothing is launched for an item but the first, and what it writes is
// seen after a link's latency.
void SimStream::push_ordered_items(SimKernel& kernel) {
  const std::vector<LocalKernelItem>& items = kernel.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const Semaphore& semaphore : items[i].waits) push(SemaphoreOp{semaphore, 1, 0});
    push(ItemOp{&kernel, i, machine_.costs().item(kernel.places(), i, issuer())});
    for (const Semaphore& semaphore : items[i].waits) push(SignalOp{semaphore, 0, 0});
    for (const Semaphore& semaphore : items[i].signals) {
      const Place word = machine_.memory().require_semaphore(semaphore);
      push(SignalOp{semaphore, 1, machine_.costs().write(word, issuer())});
    }
  }
}

// A running kernel polls: it sees a word as soon as that has come.
void SimStream::push_barrier(SimKernel& kernel, std::uint64_t value) {
  if (const auto count = kernel.count()) {
    push(ArriveOp{&kernel, 0, machine_.costs().arrive(kernel.places(), issuer())});
    push(SemaphoreOp{*count, kernel.next_count(), 0});
    return;
  }
  if (kernel.awaits().empty()) return;
  push(ArriveOp{&kernel, value, machine_.costs().arrive(kernel.places(), issuer())});
  for (const Semaphore& semaphore : kernel.awaits()) push(SemaphoreOp{semaphore, value, 0});
}

void SimStream::push(Op op) {
  operations_.push_back(std::move(op));
  pump();
}

// Operations that take no time end within their start: a loop, so that many of them in a row do not
// pile up on the call stack.
void SimStream::pump() {
  if (pumping_) return;
  pumping_ = true;
  while (!busy_ && !operations_.empty()) {
    busy_ = true;
    std::visit([this](const auto& op) { start(op); }, operations_.front());
  }
  pumping_ = false;
}

void SimStream::begin(const Charge& charge) {
  pending_ = machine_.clock().after(charge.latency, [this, &charge] {
    pending_ = 0;
    if (charge.flow.amount <= 0) return end();
    Flow flow = charge.flow;
    flow.occupancy.units = std::min(flow.occupancy.units, units_);
    if (flow.occupancy.resource < 0 || charge.resident) {
      pending_ = machine_.clock().start(std::move(flow), [this] { end(); });
    } else {
      kernel_ = device_.dispatcher().start(std::move(flow), [this] { end(); });
    }
  });
}

void SimStream::pass(double seconds) {
  pending_ = machine_.clock().after(seconds, [this] { end(); });
}

void SimStream::start(const CopyOp& op) {
  if (!op.charge.takes_engine) return begin(op.charge);
  if (device_.take_engine(this)) has_engine();
}

void SimStream::has_engine() {
  holds_engine_ = true;
  begin(std::get<CopyOp>(operations_.front()).charge);
}

void SimStream::start(const RecordOp& op) {
  const std::shared_ptr<Moment> moment = op.moment;
  if (op.number > moment->reached) {
    moment->reached = op.number;
    moment->seconds = machine_.clock().now();
    moment->device = &device_;
  }
  end();
  for (SimStream* stream : std::exchange(moment->waiting, {})) stream->event_reached();
}

void SimStream::start(const AwaitOp& op) {
  if (op.moment->reached >= op.number) return end();
  op.moment->waiting.push_back(this);
}

void SimStream::event_reached() {
  const AwaitOp& op = std::get<AwaitOp>(operations_.front());
  if (op.moment->reached < op.number) {
    op.moment->waiting.push_back(this);
    return;
  }
  end();
}

void SimStream::start(const SemaphoreOp& op) {
  if (semaphore_reached()) return pass(op.latency);
  waits_for_semaphore_ = true;
  machine_.wait_for(op.semaphore, this);
}

bool SimStream::semaphore_reached() const {
  const SemaphoreOp& op = std::get<SemaphoreOp>(operations_.front());
  return machine_.memory().semaphore(op.semaphore) >= op.value;
}

void SimStream::go_on_after_semaphore() {
  waits_for_semaphore_ = false;
  pass(std::get<SemaphoreOp>(operations_.front()).latency);
}

// The front operation is over: what it leaves behind is there, and the next one starts.
void SimStream::end() {
  pending_ = 0;
  kernel_ = 0;
  std::visit([this](const auto& op) { leave_behind(op); }, operations_.front());
  operations_.pop_front();
  busy_ = false;
  if (std::exchange(holds_engine_, false)) device_.return_engine();
  pump();
}

void SimStream::leave_behind(const CopyOp& op) {
  machine_.memory().move(op.copy.destination, op.copy.source);
  machine_.written(op.copy.destination);
}

void SimStream::leave_behind(const FillOp& op) {
  machine_.memory().fill(op.span, op.fill);
  machine_.written(op.span);
}

void SimStream::leave_behind(const SignalOp& op) {
  machine_.memory().set_semaphore(op.semaphore, op.value);
  machine_.written(op.semaphore.word);
}

void SimStream::leave_behind(const ArriveOp& op) {
  if (const auto count = op.kernel->count()) {
    if (op.kernel->arrive()) machine_.written(count->word);
    return;
  }
  for (const Semaphore& semaphore : op.kernel->arrivals()) {
    machine_.memory().set_semaphore(semaphore, op.value);
    machine_.written(semaphore.word);
  }
}

void SimStream::leave_behind(const TaskOp& op) {
  if (!op.task.body) return;
  try {
    op.task.body();
  } catch (...) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
  machine_.memory().changed_anywhere();
  machine_.written_anywhere();
}

bool SimStream::idle() {
  require_not_captured();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  const bool over = machine_.sim_scheduler().look(machine_.platform().host.poll_seconds,
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
