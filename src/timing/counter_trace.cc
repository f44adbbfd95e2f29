#include "timing/counter_trace.h"

#include <algorithm>

#include "core/error.h"

namespace duet {

void CounterTrace::add(double begin, double end, double joules) {
  if (read_ && joules != joules_) {
    const Change change{end, joules, end - begin_};
    if (!first_) {
      first_ = change;
    } else {
      last_ = change;
    }
  }
  read_ = true;
  begin_ = begin;
  joules_ = joules;
}

double CounterTrace::covered() const { return last_ ? last_->seconds - first_->seconds : 0; }

double CounterTrace::watts() const {
  if (!last_) throw BadArgument("energy counter: expected two changes");
  return (last_->joules - first_->joules) / covered();
}

// Both changes are seen late, never early, so the two errors do not add up.
double CounterTrace::resolution() const {
  return last_ ? std::max(first_->late, last_->late) / covered() : 1;
}

}  // namespace duet
