// The readings of one energy counter. A counter is read far more often than it changes; only the
// first and the last change that were seen are kept.
#pragma once

#include <optional>

namespace duet {

class CounterTrace {
 public:
  // Adds a reading, later than all before: the counter was at `joules` at some time from `begin` to
  // `end`, in seconds of one clock.
  void add(double begin, double end, double joules);

  // Seconds from the first change to the last; 0 until there are two.
  double covered() const;
  // The mean power between the first change and the last. Throws BadArgument until there are two.
  double watts() const;
  // Relative error of watts(), because a change is seen only at the next reading; 1 until there are
  // two changes.
  double resolution() const;

 private:
  struct Change {
    double seconds = 0, joules = 0;
    double late = 0;  // the most by which the change was seen late, in seconds
  };

  std::optional<Change> first_, last_;
  bool read_ = false;
  double begin_ = 0, joules_ = 0;  // of the last reading
};

}  // namespace duet
