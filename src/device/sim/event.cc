#include <fmt/format.h>

#include "core/error.h"
#include "device/sim/stream.h"

namespace duet::sim {
namespace {

template <typename AnyEvent>
auto& own(AnyEvent& event, const SimMachine& machine) {
  using Simulated = std::conditional_t<std::is_const_v<AnyEvent>, const SimEvent, SimEvent>;
  auto* const simulated = dynamic_cast<Simulated*>(&event);
  if (simulated == nullptr || &simulated->machine() != &machine) {
    throw BadArgument("an event of another machine");
  }
  return *simulated;
}

}  // namespace

SimEvent::SimEvent(SimMachine& machine) : machine_(machine) {}

bool SimEvent::done() {
  return machine_.sim_scheduler().poll(machine_.platform().host.poll_seconds,
                                       [this] { return is_done(); });
}

void SimEvent::synchronize(double deadline_seconds) {
  machine_.scheduler().wait(fmt::format("an event of {}", machine_.name()), deadline_seconds,
                            [this] { return is_done(); });
}

double SimEvent::seconds_since(const Event& earlier) const {
  const std::shared_ptr<Recording>& other = own(earlier, machine_).last();
  for (const auto& recording : {last_, other}) {
    if (recording == nullptr || !recording->reached) {
      throw BadArgument("seconds_since: an event that was not recorded or not reached");
    }
  }
  if (last_->device != other->device) {
    throw BadArgument(fmt::format("seconds_since: events of {} and {}: expected one device",
                                  last_->device->info().name, other->device->info().name));
  }
  return last_->seconds - other->seconds;
}

void SimStream::enqueue_record(Event& event) {
  SimEvent& recorded = own(event, machine_);
  recorded.set_last(std::make_shared<Recording>());
  push(RecordOp{recorded.last()});
}

void SimStream::enqueue_wait(Event& event) {
  const std::shared_ptr<Recording> recording = own(event, machine_).last();
  if (recording != nullptr) push(WaitEventOp{recording});
}

}  // namespace duet::sim
