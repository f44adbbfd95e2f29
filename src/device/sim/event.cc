#include <fmt/format.h>

#include "core/error.h"
#include "device/sim/stream.h"

namespace duet::sim {
namespace {

const std::shared_ptr<EventState>& own(const Event& event, const SimMachine& machine) {
  const auto* simulated = dynamic_cast<const SimEvent*>(&event);
  if (simulated == nullptr || simulated->state()->machine != &machine) {
    throw BadArgument("an event of another machine");
  }
  return simulated->state();
}

}  // namespace

SimEvent::SimEvent(SimMachine& machine)
    : machine_(machine), state_(std::make_shared<EventState>()) {
  state_->machine = &machine;
}

bool SimEvent::done() {
  return machine_.sim_scheduler().poll(machine_.platform().host.poll_seconds,
                                       [this] { return state_->reached == state_->recorded; });
}

void SimEvent::synchronize(double deadline_seconds) {
  machine_.scheduler().wait(fmt::format("an event of {}", machine_.name()), deadline_seconds,
                            [this] { return state_->reached == state_->recorded; });
}

double SimEvent::seconds_since(const Event& earlier) const {
  const std::shared_ptr<EventState>& other = own(earlier, machine_);
  for (const auto& state : {state_, other}) {
    if (state->recorded == 0 || state->reached != state->recorded) {
      throw BadArgument("seconds_since: an event that was not recorded or not reached");
    }
  }
  if (state_->device != other->device) {
    throw BadArgument(fmt::format("seconds_since: events of {} and {}: expected one device",
                                  state_->device->info().name, other->device->info().name));
  }
  return state_->seconds - other->seconds;
}

void SimStream::enqueue_record(Event& event) {
  const std::shared_ptr<EventState>& state = own(event, machine_);
  push(RecordOp{state, ++state->recorded});
}

void SimStream::enqueue_wait(Event& event) {
  const std::shared_ptr<EventState>& state = own(event, machine_);
  push(WaitEventOp{state, state->recorded});
}

}  // namespace duet::sim
