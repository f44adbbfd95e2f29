#include "collectives/schedule/schedule_plan.h"

#include <algorithm>
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

std::vector<Stream*> streams_for(const RankSchedule& schedule, SideStreams* lanes) {
  int most = 0;
  for (const Step& step : schedule.steps) most = std::max(most, step.lane);
  std::vector<Stream*> streams;
  for (int lane = 0; lane < most; ++lane) {
    const int beyond = lane - lanes->copying().count;
    streams.push_back(beyond < 0 ? &lanes->at(lane) : &lanes->copying_out().at(beyond));
  }
  return streams;
}

}  // namespace

SchedulePlan::SchedulePlan(Rank& rank, const RankSchedule& schedule,
                           const CollectiveBuffers& buffers, const ScheduleSession& session)
    : device_(rank.device),
      algorithm_(schedule.algorithm),
      lanes_(streams_for(schedule, session.lanes)),
      binding_(rank, schedule, buffers, session),
      kept_(session.keeps_schedules ? std::make_optional(schedule) : std::nullopt) {
  const std::set<int> awaited = awaited_later(schedule);
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    add_step(schedule, step);
    if (awaited.count(step) != 0) event_behind(schedule, step);
  }
  add_wire_bytes(wire_bytes_of(schedule));
}

void SchedulePlan::add_step(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  wait_for_steps(schedule, step);
  add_handshake(one.lane, {{}, binding_.semaphores_of(one.waits)});
  for (const StepCopy& copy : one.copies) {
    calls_.push_back({one.lane, Copy{binding_.span_of(copy.to), binding_.span_of(copy.from),
                                     copy.executor, copy.shape}});
  }
  if (!one.kernel.is_none()) {
    kernels_.push_back(binding_.prepare(one.kernel));
    calls_.push_back({one.lane, kernels_.back().get()});
  }
  add_handshake(one.lane, {binding_.semaphores_of(one.signals), {}});
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
