#include "device/sim/device.h"

#include <algorithm>

#include "core/error.h"
#include "device/sim/kernel.h"
#include "device/sim/machine.h"
#include "device/sim/sim.h"
#include "device/sim/stream.h"

namespace duet::sim {

SimDevice::SimDevice(SimMachine& machine, DeviceInfo info, int index)
    : machine_(machine),
      info_(std::move(info)),
      index_(index),
      free_engines_(machine.platform().device.dma.engines),
      dispatcher_(machine.clock(), machine.platform().device) {}

const DeviceModel& SimDevice::model() const { return machine_.platform().device; }

std::unique_ptr<Stream> SimDevice::make_stream(const StreamOptions& options) {
  return std::make_unique<SimStream>(*this, options);
}

std::unique_ptr<Event> SimDevice::make_event(EventUse) {
  return std::make_unique<SimEvent>(machine_);
}

std::unique_ptr<PreparedKernel> SimDevice::prepare(const CollectiveKernel& kernel) {
  return std::make_unique<SimKernel>(*this, kernel);
}

Span SimDevice::acquire(std::uint64_t bytes, MemoryKind kind) {
  return machine_.memory().allocate(*this, bytes, kind);
}

void SimDevice::release(const Span& span) noexcept { machine_.memory().release(span); }

void SimDevice::read(const Span& from, void* to) { machine_.memory().read(from, to); }

void SimDevice::write(const Span& to, const void* from) {
  machine_.memory().write(to, from);
  machine_.memory_written(to);
}

void SimDevice::signal(const Semaphore& semaphore, std::uint64_t value) {
  machine_.memory().require_semaphore(semaphore);
  machine_.memory().set_semaphore(semaphore, value);
  machine_.memory_written(semaphore.word);
}

bool SimDevice::has_contents(const Span& span) const {
  return machine_.memory().has_contents(span);
}

std::optional<Difference> SimDevice::check(const Span& span, const Fill& fill) {
  machine_.memory().require_contents(span, "span to check");
  if (fill.kind == FillKind::normal)
    throw BadArgument("check: normal fills differ from device to device");
  const Difference difference = machine_.memory().compare(span, fill);
  if (difference.count == 0) return std::nullopt;
  return difference;
}

bool SimDevice::take_engine(SimStream* stream) {
  if (free_engines_ > 0) {
    --free_engines_;
    return true;
  }
  waiting_for_engine_.push_back(stream);
  return false;
}

void SimDevice::return_engine() {
  if (waiting_for_engine_.empty()) {
    ++free_engines_;
    return;
  }
  SimStream* next = waiting_for_engine_.front();
  waiting_for_engine_.pop_front();
  next->engine_granted();
}

void SimDevice::stop_waiting_for_engine(SimStream* stream) {
  waiting_for_engine_.erase(
      std::remove(waiting_for_engine_.begin(), waiting_for_engine_.end(), stream),
      waiting_for_engine_.end());
}

int SimDevice::next_rail() {
  const NetworkModel& network = machine_.platform().network;
  if (network.use == RailUse::split) return -1;
  return std::exchange(next_rail_, (next_rail_ + 1) % network.rails);
}

const DeviceModel* model_of(const Device& device) {
  const auto* simulated = dynamic_cast<const SimDevice*>(&device);
  return simulated == nullptr ? nullptr : &simulated->model();
}

}  // namespace duet::sim
