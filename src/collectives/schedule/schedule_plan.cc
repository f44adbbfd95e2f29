#include "collectives/schedule/schedule_plan.h"

#include <set>
#include <utility>

namespace duet {
namespace {

// Steps that others wait for when their lanes have gone on: by then it is too late for an event.
std::set<int> awaited_later(const RankSchedule& schedule) {
  std::set<int> awaited;
  std::map<int, int> last;  // by lane
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    const Step& one = schedule.steps[index_of(step)];
    for (const auto* earlier : {&one.after, &one.after_for_speed}) {
      for (const int each : *earlier) {
        if (last[schedule.steps[index_of(each)].lane] != each) awaited.insert(each);
      }
    }
    last[one.lane] = step;
  }
  return awaited;
}

}  // namespace

SchedulePlan::SchedulePlan(Rank& rank, const RankSchedule& schedule,
                           const CollectiveBuffers& buffers, ScheduleSession session)
    : device_(rank.device),
      algorithm_(schedule.algorithm),
      send_(buffers.send),
      recv_(buffers.recv),
      lanes_(std::move(session.lanes)),
      all_recv_(schedule.pushes_to_recv
                    ? std::make_optional<PeerMemory>(rank, buffers.recv,
                                                     "the other ranks' receive buffers")
                    : std::nullopt),
      memory_(session.pool != nullptr
                  ? session.pool->memory(rank, schedule, session.watchdog)
                  : std::make_shared<ScheduleMemory>(rank, schedule, session.watchdog)) {
  const std::set<int> awaited = awaited_later(schedule);
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    add_step(schedule, step);
    if (awaited.count(step) != 0) event_behind(schedule, step);
  }
}

Span SchedulePlan::span_of(const Place& place) const {
  const auto whole = [&]() -> const Span& {
    if (place.buffer == BufferRole::slots) return memory_->slots(place.rank);
    if (place.buffer == BufferRole::send) return send_;
    return all_recv_ ? all_recv_->at(place.rank) : recv_;
  };
  return whole().slice(place.offset, place.bytes);
}

std::vector<Semaphore> SchedulePlan::semaphores_of(const std::vector<SemaphoreAt>& list) const {
  std::vector<Semaphore> semaphores;
  for (const SemaphoreAt& each : list) semaphores.push_back(memory_->at(each));
  return semaphores;
}

void SchedulePlan::add_step(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  wait_for_steps(schedule, step);
  add_handshake(one.lane, {{}, semaphores_of(one.waits)});
  for (const StepCopy& copy : one.copies) {
    calls_.push_back(
        {one.lane, Copy{span_of(copy.to), span_of(copy.from), copy.executor, copy.shape}});
    if (copy.to.rank != schedule.rank) add_wire_bytes(copy.to.bytes);
  }
  if (!one.kernel.items.empty()) add_kernel(schedule.rank, one.lane, one.kernel);
  add_handshake(one.lane, {semaphores_of(one.signals), {}});
}

void SchedulePlan::add_kernel(int rank, int lane, const StepKernel& kernel) {
  LocalKernel local;
  local.dtype = kernel.dtype;
  local.op = kernel.op;
  local.blocks = kernel.blocks;
  local.adds = kernel.adds;
  for (const StepItem& item : kernel.items) {
    LocalKernelItem& one = local.items.emplace_back();
    for (const Place& source : item.sources) one.sources.push_back(span_of(source));
    if (!item.sources.empty()) one.destinations = {span_of(item.target)};
    one.waits = semaphores_of(item.waits);
    one.signals = semaphores_of(item.signals);
    if (item.target.rank != rank) add_wire_bytes(item.target.bytes);
  }
  kernels_.push_back(device_.prepare(local));
  calls_.push_back({lane, kernels_.back().get()});
}

// Of a lane's step that only signals and its next one that only waits, a single call.
void SchedulePlan::add_handshake(int lane, Handshake handshake) {
  if (handshake.signals.empty() && handshake.waits.empty()) return;
  if (!calls_.empty() && calls_.back().lane == lane && handshake.signals.empty()) {
    auto* const last = std::get_if<Handshake>(&calls_.back().what);
    if (last != nullptr && last->waits.empty()) {
      last->waits = std::move(handshake.waits);
      return;
    }
  }
  calls_.push_back({lane, std::move(handshake)});
}

void SchedulePlan::wait_for_steps(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  for (const auto* earlier : {&one.after, &one.after_for_speed}) {
    for (const int each : *earlier) {
      Event& event = event_behind(schedule, each);
      calls_.push_back({one.lane, WaitFor{&event}});
    }
  }
}

// Recorded by the first call of this function, before anything else is enqueued on the lane.
Event& SchedulePlan::event_behind(const RankSchedule& schedule, int step) {
  std::unique_ptr<Event>& event = events_[step];
  if (event == nullptr) {
    event = device_.make_event(EventUse::order);
    calls_.push_back({schedule.steps[index_of(step)].lane, Record{event.get()}});
  }
  return *event;
}

void SchedulePlan::enqueue(Stream& stream) {
  for (const Call& call : calls_) {
    Stream& lane = call.lane == 0 ? stream : *lanes_[index_of(call.lane - 1)];
    if (const auto* copy = std::get_if<Copy>(&call.what)) {
      lane.copy(*copy);
    } else if (const auto* handshake = std::get_if<Handshake>(&call.what)) {
      lane.handshake(*handshake);
    } else if (const auto* record = std::get_if<Record>(&call.what)) {
      lane.record(*record->event);
    } else if (const auto* wait = std::get_if<WaitFor>(&call.what)) {
      lane.wait(*wait->event);
    } else {
      lane.launch(*std::get<PreparedKernel*>(call.what));
    }
  }
}

}  // namespace duet
