#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace duet::sim {

// Reserves capacity for `more` further elements, so that adding them cannot throw. The capacity at
// least doubles when it grows.
template <typename T>
void make_room(std::vector<T>& vector, std::size_t more) {
  const std::size_t size = vector.size() + more;
  if (size > vector.capacity()) vector.reserve(std::max(size, 2 * vector.capacity()));
}

using Action = std::function<void()>;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Virtual time, and the pending events: actions with a time.
//
// An event is added without a time; schedule() sets or changes its time. A step is
//   begin_step(next()); while (Id id = due()) take(id) or take_early(id, ...); run();
// so all events of one time are taken before the first of their actions runs. Events of one time
// are taken in the order in which they were added. Not thread-safe. If memory runs out, add() and
// schedule() throw std::bad_alloc and change nothing; cancel(), take() and take_early() allocate
// nothing.
class EventQueue {
 public:
  using Id = std::uint64_t;  // never 0 and never used again

  double now() const { return now_; }
  // Moves on to `time`; there must be no event before it.
  void skip_to(double time);

  Id add(Action action);
  bool is_pending(Id id) const { return slots_[slot(id)].id == id; }
  // An index below slots() for tables beside the queue. Pending events have different slots.
  static std::size_t slot(Id id) { return static_cast<std::size_t>(id & kSlotMask); }
  std::size_t slots() const { return slots_.size(); }

  // Sets the time of a pending event. kNever: the event does not happen until it is scheduled
  // again.
  void schedule(Id id, double time);
  void make_room_to_schedule();  // after this call the next schedule() allocates nothing
  // Removes the event, and its actions that were taken in this step and have not run. No-op if the
  // event has happened.
  void cancel(Id id) noexcept;

  double next();                 // the time of the first event; kNever if none is scheduled
  void begin_step(double time);  // moves on to `time`
  Id due();  // the first event that is scheduled at or before now(); 0 if there is none
  // Ends a due event; run() calls its action.
  void take(Id id) noexcept;
  // Makes run() call `action`. The event stays pending and must be scheduled anew. At most once per
  // event in a step.
  void take_early(Id id, Action action) noexcept;
  void run();  // calls the actions of this step, in the order in which they were taken

 private:
  struct PendingEvent {
    Id id = 0;  // 0: free
    Action action;
    std::uint32_t version = 0;  // of its valid entry in the heap; entries with another one are void
  };
  struct HeapEntry {
    double time;
    Id id;  // orders equal times
    std::uint32_t version;
    bool operator>(const HeapEntry& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };

  // An id is the number of the add() call, with the slot in its low bits.
  static constexpr int kSlotBits = 24;
  static constexpr Id kSlotMask = (Id{1} << kSlotBits) - 1;

  bool is_void(const HeapEntry& entry) const;
  void drop_void();
  void free_slot(Id id) noexcept;

  double now_ = 0;
  Id sequence_ = 0;
  std::deque<PendingEvent> slots_;
  std::vector<std::size_t> free_;
  std::vector<HeapEntry> heap_;
  std::vector<std::pair<Id, Action>> taken_;  // actions of this step
};

}  // namespace duet::sim
