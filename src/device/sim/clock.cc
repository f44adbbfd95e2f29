// The event loop of the virtual clock.
#include "device/sim/clock.h"

#include <algorithm>
#include <cmath>

namespace duet::sim {
namespace {

// Whenever a flow ends the rates of all that are linked to it are worked out again. That many flows
// at a time end together where their ends are near: each as late as one of so many steps of the
// time that it takes, so that the work grows with their number and not with its square.
constexpr std::size_t kMany = 2048;
constexpr double kSteps = 512;

// The first multiple, from then on, of a power of two that is not above the step. Late on the clock
// a short flow may take no time at all.
double rounded_up(double time, double step) {
  if (step <= 0) return time;
  int exponent = 0;
  std::frexp(step, &exponent);
  const double grid = std::ldexp(0.5, exponent);
  return std::ceil(time / grid) * grid;
}

// That many elements more take no memory.
template <typename T>
void make_room(std::vector<T>& vector, std::size_t more) {
  const std::size_t size = vector.size() + more;
  if (size > vector.capacity()) vector.reserve(std::max(size, 2 * vector.capacity()));
}

}  // namespace

int VirtualClock::add_resource(double capacity_per_second) {
  make_room(dirty_list_, capacities_.size() + 1);
  capacities_.push_back(capacity_per_second);
  users_.emplace_back();
  dirty_.push_back(0);
  return static_cast<int>(capacities_.size()) - 1;
}

// With room for what its events need: an entry of the heap, one in the batch for what is watched
// and one for its end, and its place among the free ones.
std::uint32_t VirtualClock::new_slot() {
  make_room(heap_, 1);
  make_room(batch_, 2 * (slots_.size() + 1));
  make_room(free_, slots_.size() + 1);
  std::uint32_t index = static_cast<std::uint32_t>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  slots_[index].id = (++sequence_ << kSlotBits) | index;
  return index;
}

VirtualClock::Slot* VirtualClock::find(Id id) {
  Slot& slot = slots_[id & kSlotMask];
  return slot.id == id ? &slot : nullptr;
}

VirtualClock::Id VirtualClock::after(double seconds, Action action) {
  const std::uint32_t index = new_slot();
  slots_[index].is_flow = false;
  slots_[index].action = std::move(action);
  push(index, now_ + seconds);
  return slots_[index].id;
}

VirtualClock::Id VirtualClock::start(Flow flow, Action done) {
  auto& uses = flow.uses;
  uses.erase(std::remove_if(uses.begin(), uses.end(), [](const Use& u) { return u.amount <= 0; }),
             uses.end());
  each_resource(flow, [&](std::size_t resource) { make_room(users_[resource], uses.size() + 1); });
  make_room(free_flows_, 1);
  const std::uint32_t index = new_slot();
  Slot& slot = slots_[index];
  slot.is_flow = true;
  slot.flow = std::move(flow);
  slot.action = std::move(done);
  slot.rate = 0;
  slot.since = slot.begun = now_;
  ++flows_;
  bool alone = true;
  each_resource(slot.flow, [&](std::size_t resource) {
    users_[resource].push_back(index);
    if (!dirty_[resource]) dirty_list_.push_back(static_cast<int>(resource));
    dirty_[resource] = 1;
    alone = false;
  });
  if (alone) free_flows_.push_back(slot.id);
  return slot.id;
}

void VirtualClock::cancel(Id id) noexcept {
  if (id == 0) return;
  if (find(id) != nullptr) take_out(static_cast<std::uint32_t>(id & kSlotMask));
  for (auto& [happening, action] : batch_) {
    if (happening == id) action = nullptr;
  }
}

void VirtualClock::watch(Id id, double left, Action reached) {
  Slot* slot = find(id);
  if (slot == nullptr) return;
  make_room(heap_, 1);
  slot->watched = left;
  slot->reached = std::move(reached);
  push(static_cast<std::uint32_t>(id & kSlotMask), event_time(*slot));
}

double VirtualClock::left(Id id) const {
  const Slot* slot = find(id);
  if (slot == nullptr) return 0;
  return std::max(0.0, slot->flow.amount - slot->rate * (now_ - slot->since));
}

// When a flow ends, or reaches what is watched.
double VirtualClock::event_time(const Slot& slot) const {
  const double until = slot.reached ? slot.watched : 0;
  const double ahead = slot.flow.amount - until;
  if (ahead <= 0) return now_;
  if (slot.rate <= 0) return kNever;
  const double time = slot.since + ahead / slot.rate;
  const bool alone = slot.reached || flows_ <= kMany;
  return alone ? time : rounded_up(time, (time - slot.begun) / kSteps);
}

void VirtualClock::bring_up_to_now(Slot& slot) {
  const double done = slot.rate > 0 ? slot.rate * (now_ - slot.since) : 0;
  slot.flow.amount = std::max(0.0, slot.flow.amount - done);
  slot.since = now_;
}

// True if what happens now is a flow's reaching what was watched, and not its end.
bool VirtualClock::pass_watch(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!slot.reached) return false;
  make_room(heap_, 1);
  bring_up_to_now(slot);
  slot.flow.amount = std::min(slot.flow.amount, slot.watched);
  batch_.emplace_back(slot.id, std::exchange(slot.reached, nullptr));
  push(index, event_time(slot));
  return true;
}

void VirtualClock::take_out(std::uint32_t index) noexcept {
  Slot& slot = slots_[index];
  if (slot.is_flow) {
    --flows_;
    each_resource(slot.flow, [&](std::size_t resource) {
      auto& users = users_[resource];
      *std::find(users.begin(), users.end(), index) = users.back();
      users.pop_back();
      if (!dirty_[resource]) dirty_list_.push_back(static_cast<int>(resource));
      dirty_[resource] = 1;
    });
  }
  slot.id = 0;
  slot.action = nullptr;
  slot.reached = nullptr;
  ++slot.version;
  free_.push_back(index);
}

void VirtualClock::push(std::uint32_t index, double time) {
  Slot& slot = slots_[index];
  ++slot.version;
  if (time == kNever) return;
  heap_.push_back({time, slot.id, slot.version});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  if (heap_.size() > 64 + 8 * slots_.size()) {  // mostly void entries
    heap_.erase(std::remove_if(heap_.begin(), heap_.end(),
                               [&](const Entry& entry) { return is_void(entry); }),
                heap_.end());
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
}

bool VirtualClock::is_void(const Entry& entry) const {
  const Slot& slot = slots_[entry.id & kSlotMask];
  return slot.id != entry.id || slot.version != entry.version;
}

void VirtualClock::drop_void() {
  while (!heap_.empty() && is_void(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
}

double VirtualClock::next() {
  settle();
  drop_void();
  return heap_.empty() ? kNever : heap_.front().time;
}

bool VirtualClock::step(double limit) {
  const double time = next();
  if (time == kNever || time > limit) return false;
  now_ = std::max(now_, time);
  // All that happens now is taken out before any of it acts, so that flows that end together are
  // followed by one settling of rates.
  batch_.clear();
  for (; !heap_.empty() && heap_.front().time <= now_; drop_void()) {
    const Id id = heap_.front().id;
    if (pass_watch(static_cast<std::uint32_t>(id & kSlotMask))) continue;
    batch_.emplace_back(id, std::move(find(id)->action));
    take_out(static_cast<std::uint32_t>(id & kSlotMask));
  }
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const Action action = std::move(batch_[i].second);
    if (action) action();
  }
  return true;
}

void VirtualClock::skip_to(double time) { now_ = std::max(now_, time); }

}  // namespace duet::sim
