// Events of simulated devices, and the streams' operations on them.
#include <fmt/format.h>

#include "core/error.h"
#include "device/sim/stream.h"

namespace duet::sim {
namespace {

const std::shared_ptr<Moment>& own(const Event& event, const SimMachine& machine) {
  const auto* simulated = dynamic_cast<const SimEvent*>(&event);
  if (simulated == nullptr || simulated->moment()->machine != &machine) {
    throw BadArgument("an event of another machine");
  }
  return simulated->moment();
}

}  // namespace

SimEvent::SimEvent(SimMachine& machine) : machine_(machine), moment_(std::make_shared<Moment>()) {
  moment_->machine = &machine;
}

bool SimEvent::done() {
  return machine_.sim_scheduler().look(machine_.platform().host.poll_seconds,
                                       [this] { return moment_->reached == moment_->recorded; });
}

void SimEvent::synchronize(double deadline_seconds) {
  machine_.scheduler().wait(fmt::format("an event of {}", machine_.name()), deadline_seconds,
                            [this] { return moment_->reached == moment_->recorded; });
}

double SimEvent::seconds_since(const Event& earlier) const {
  const std::shared_ptr<Moment>& other = own(earlier, machine_);
  for (const auto& moment : {moment_, other}) {
    if (moment->recorded == 0 || moment->reached != moment->recorded) {
      throw BadArgument("seconds_since: an event that was not recorded or not reached");
    }
  }
  if (moment_->device != other->device) {
    throw BadArgument(fmt::format("seconds_since: events of {} and {}: expected one device",
                                  moment_->device->info().name, other->device->info().name));
  }
  return moment_->seconds - other->seconds;
}

void SimStream::enqueue_record(Event& event) {
  const std::shared_ptr<Moment>& moment = own(event, machine_);
  push(RecordOp{moment, ++moment->recorded});
}

void SimStream::enqueue_wait(Event& event) {
  const std::shared_ptr<Moment>& moment = own(event, machine_);
  push(AwaitOp{moment, moment->recorded});
}

}  // namespace duet::sim
