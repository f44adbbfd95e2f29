#include "collectives/schedule/schedule_plan.h"

#include <set>
#include <utility>

#include "collectives/peer/staging.h"

namespace duet {
namespace {

int semaphores_of(const RankSchedule& schedule) {
  int count = 0;
  for (const SemaphoreGroup& group : schedule.semaphores) count += group.total(schedule.ranks);
  return count;
}

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
                           const CollectiveBuffers& buffers, std::vector<Stream*> lanes,
                           Watchdog& watchdog)
    : device_(rank.device),
      algorithm_(schedule.algorithm),
      send_(buffers.send),
      recv_(buffers.recv),
      lanes_(std::move(lanes)),
      all_recv_(schedule.pushes_to_recv
                    ? std::make_optional<PeerMemory>(rank, buffers.recv,
                                                     "the other ranks' receive buffers")
                    : std::nullopt),
      semaphores_(rank, semaphores_of(schedule)),
      watched_(watchdog, semaphores_) {
  if (schedule.slot_bytes > 0) {
    slots_.emplace(
        rank, [&] { return rank.device.allocate_coherent(schedule.slot_bytes); },
        "the other ranks' staging memory");
  }
  set_initial_values(schedule);
  const std::set<int> awaited = awaited_later(schedule);
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    add_step(schedule, step);
    if (awaited.count(step) != 0) event_behind(schedule, step);
  }
}

Span SchedulePlan::span_of(const Place& place) const {
  const auto whole = [&]() -> const Span& {
    if (place.buffer == BufferRole::slots) return slots_->at(place.rank);
    if (place.buffer == BufferRole::send) return send_;
    return all_recv_ ? all_recv_->at(place.rank) : recv_;
  };
  return whole().slice(place.offset, place.bytes);
}

void SchedulePlan::poison_staging() {
  if (slots_) poison_slots(device_, slots_->own().span());
}

Semaphore SchedulePlan::semaphore_of(const RankSchedule& schedule, const SemaphoreAt& one) const {
  int first = 0;
  for (int group = 0; group < one.group; ++group) {
    first += schedule.semaphores[index_of(group)].total(schedule.ranks);
  }
  const int count = schedule.semaphores[index_of(one.group)].count;
  return semaphores_.at(one.owner, first + one.peer * count + one.index);
}

void SchedulePlan::set_initial_values(const RankSchedule& schedule) {
  for (int group = 0; group < static_cast<int>(schedule.semaphores.size()); ++group) {
    const SemaphoreGroup& all = schedule.semaphores[index_of(group)];
    for (int one = 0; all.initial != 0 && one < all.total(schedule.ranks); ++one) {
      device_.signal(
          semaphore_of(schedule, {group, schedule.rank, one / all.count, one % all.count}), 1);
    }
  }
}

void SchedulePlan::add_step(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  Handshake before, behind;
  for (const SemaphoreAt& each : one.waits) before.waits.push_back(semaphore_of(schedule, each));
  for (const SemaphoreAt& each : one.signals) {
    behind.signals.push_back(semaphore_of(schedule, each));
  }
  wait_for_steps(schedule, step);
  add_handshake(one.lane, std::move(before));
  for (const StepCopy& copy : one.copies) {
    calls_.push_back(
        {one.lane, Copy{span_of(copy.to), span_of(copy.from), copy.executor, copy.shape}});
    if (copy.to.rank != schedule.rank) add_wire_bytes(copy.to.bytes);
  }
  add_handshake(one.lane, std::move(behind));
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
    } else {
      lane.wait(*std::get<WaitFor>(call.what).event);
    }
  }
}

}  // namespace duet
