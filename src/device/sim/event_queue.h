#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace duet::sim {

using Action = std::function<void()>;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Virtual time, and the events that are pending. Knows nothing of what they are about.
//
// An event is added without a time; schedule() gives it one, or another one. A step is
//   begin_step(next()); while (Id id = due()) take(id) or take_early(id, ...); run();
// so that all that happens at one time is taken before any of it acts. Events at one time are taken
// in the order in which they were added. Not thread-safe. Where memory is short add() and
// schedule() throw and leave nothing behind; cancel(), take() and take_early() take no memory.
class EventQueue {
 public:
  using Id = std::uint64_t;  // never 0 and never used again

  double now() const { return now_; }
  // Moves on to `time`; there must be no event before it.
  void skip_to(double time);

  Id add(Action action);
  bool is_pending(Id id) const { return slots_[slot(id)].id == id; }
  // A small number for tables beside the queue: of one pending event at a time, below slots().
  static std::size_t slot(Id id) { return static_cast<std::size_t>(id & kSlotMask); }
  std::size_t slots() const { return slots_.size(); }

  // kNever: not before it is scheduled again. The event must be pending.
  void schedule(Id id, double time);
  void make_room_to_schedule();  // the next schedule() takes no memory
  // The event does not happen, nor what was taken of it in this step. No-op if it has happened.
  void cancel(Id id) noexcept;

  double next();  // the time of the first event; kNever if none is scheduled
  void begin_step(double time);
  Id due();  // the first event that is scheduled up to now(); 0 if there is none
  void take(Id id) noexcept;
  // Lets `action` happen while the event stays pending; it must be scheduled anew. Once in a step
  // for an event.
  void take_early(Id id, Action action) noexcept;
  void run();

 private:
  struct PendingEvent {
    Id id = 0;  // 0: free
    Action action;
    std::uint32_t version = 0;  // of its entry in the heap; older entries are void
  };
  struct HeapEntry {
    double time;
    Id id;  // orders equal times
    std::uint32_t version;
    bool operator>(const HeapEntry& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };

  // An id is the number of the request, and in its low bits the slot.
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
  std::vector<std::pair<Id, Action>> taken_;  // in this step
};

}  // namespace duet::sim
