#include "device/sim/event_queue.h"

#include <algorithm>

namespace duet::sim {

void EventQueue::skip_to(double time) { now_ = std::max(now_, time); }

// Reserves the memory that the event will need: an entry of the heap, two of taken_ (an early
// action and the event's own) and one of free_.
EventQueue::Id EventQueue::add(Action action) {
  make_room(heap_, 1);
  make_room(taken_, 2 * (slots_.size() + 1));
  make_room(free_, slots_.size() + 1);
  std::size_t index = slots_.size();
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  PendingEvent& event = slots_[index];
  event.id = (++sequence_ << kSlotBits) | index;
  event.action = std::move(action);
  return event.id;
}

void EventQueue::make_room_to_schedule() { make_room(heap_, 1); }

void EventQueue::schedule(Id id, double time) {
  PendingEvent& event = slots_[slot(id)];
  ++event.version;
  if (time == kNever) return;
  heap_.push_back({time, id, event.version});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  if (heap_.size() > 64 + 8 * slots_.size()) {  // mostly void entries
    heap_.erase(std::remove_if(heap_.begin(), heap_.end(),
                               [&](const HeapEntry& entry) { return is_void(entry); }),
                heap_.end());
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
}

void EventQueue::cancel(Id id) noexcept {
  if (is_pending(id)) free_slot(id);
  for (auto& [taken, action] : taken_) {
    if (taken == id) action = nullptr;
  }
}

void EventQueue::free_slot(Id id) noexcept {
  PendingEvent& event = slots_[slot(id)];
  event.id = 0;
  event.action = nullptr;
  ++event.version;
  free_.push_back(slot(id));
}

bool EventQueue::is_void(const HeapEntry& entry) const {
  const PendingEvent& event = slots_[slot(entry.id)];
  return event.id != entry.id || event.version != entry.version;
}

void EventQueue::drop_void() {
  while (!heap_.empty() && is_void(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
}

double EventQueue::next() {
  drop_void();
  return heap_.empty() ? kNever : heap_.front().time;
}

void EventQueue::begin_step(double time) {
  now_ = std::max(now_, time);
  taken_.clear();
}

EventQueue::Id EventQueue::due() {
  drop_void();
  return heap_.empty() || heap_.front().time > now_ ? 0 : heap_.front().id;
}

void EventQueue::take(Id id) noexcept {
  taken_.emplace_back(id, std::move(slots_[slot(id)].action));
  free_slot(id);
}

void EventQueue::take_early(Id id, Action action) noexcept {
  taken_.emplace_back(id, std::move(action));
}

void EventQueue::run() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const Action action = std::move(taken_[i].second);
    if (action) action();
  }
}

}  // namespace duet::sim
