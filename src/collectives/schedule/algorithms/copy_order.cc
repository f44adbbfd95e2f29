#include "collectives/schedule/algorithms/copy_order.h"

#include <fmt/format.h>

namespace duet {

// The start of a copy is a step of its own, behind the waits, which the next start is after.
void CopyOrder::add(Step step, int distance) {
  const int number = in_order_ ? added_ : distance - 1;
  ++added_;
  if (step.waits.empty() && step.copies.empty() && step.signals.empty()) return;
  step.lane = first_lane_ + number % lanes_;
  if (!in_order_ || lanes_ == 1) {
    writer_.add(std::move(step));
    return;
  }
  Step start;
  start.lane = step.lane;
  start.waits = std::move(step.waits);
  step.waits.clear();
  start.rule = fmt::format("starts in order from lane {} on", first_lane_);
  if (last_start_ >= 0) (is_needed_ ? start.after : start.after_for_speed) = {last_start_};
  last_start_ = writer_.add(std::move(start));
  writer_.add(std::move(step));
}

}  // namespace duet
