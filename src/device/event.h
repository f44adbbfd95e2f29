// A point in a stream's work, and the time at which the device reached it.
#pragma once

namespace duet {

// What an event is for. One that only orders streams takes less of the device and has no time.
enum class EventUse { timing, order };

class Event {
 public:
  virtual ~Event() = default;

  // Has all work before the last record() finished? True if never recorded.
  virtual bool done() = 0;

  // Blocks the calling rank until done(). Throws Timeout after `deadline_seconds`.
  virtual void synchronize(double deadline_seconds) = 0;

  // Device time from `earlier` to this event, in seconds; both for timing, recorded on the same
  // device and done. Throws BadArgument otherwise.
  virtual double seconds_since(const Event& earlier) const = 0;
};

}  // namespace duet
