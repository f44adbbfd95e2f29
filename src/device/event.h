#pragma once

namespace duet {

// What an event is used for. An event that only orders streams is cheaper and has no time.
enum class EventUse { timing, order };

// A point in a stream's work, and the time at which the device reached that point.
class Event {
 public:
  virtual ~Event() = default;

  // Whether all work before the last record() has finished. True if never recorded.
  virtual bool done() = 0;

  // Blocks the calling rank until done(). Throws Timeout after `deadline_seconds`.
  virtual void synchronize(double deadline_seconds) = 0;

  // Device time from `earlier` to this event, in seconds. Both must be timing events, recorded on
  // the same device, and done. Throws BadArgument otherwise.
  virtual double seconds_since(const Event& earlier) const = 0;
};

}  // namespace duet
