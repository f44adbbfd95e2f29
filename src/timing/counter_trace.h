// What is seen of an energy counter that is read again and again, but changes only now and then.
#pragma once

#include <optional>

namespace duet {

class CounterTrace {
 public:
  // A reading, later than those before: the counter said `joules` somewhen from `begin` to `end`,
  // in seconds of one clock.
  void add(double begin, double end, double joules);

  // Seconds from the first change to the last; 0 until there are two.
  double covered() const;
  // The mean between the two. Throws BadArgument until they are there.
  double watts() const;
  // By which share watts() may be off, because a change is seen at the next reading only; 1 until
  // there are two.
  double resolution() const;

 private:
  struct Change {
    double seconds = 0, joules = 0;
    double late = 0;  // seconds that it was seen late, at most
  };

  std::optional<Change> first_, last_;
  bool read_ = false;
  double begin_ = 0, joules_ = 0;  // of the last reading
};

}  // namespace duet
