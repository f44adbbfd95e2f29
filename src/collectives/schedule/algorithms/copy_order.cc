#include "collectives/schedule/algorithms/copy_order.h"

#include <fmt/format.h>

#include <utility>

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
  note(start);
  if (!starts_.empty())
    (is_needed_ ? start.after : start.after_for_speed).push_back(starts_.back());
  starts_.push_back(writer_.add(std::move(start)));
  writer_.add(std::move(step));
}

void CopyOrder::note(const Step& start) {
  bool changes_lanes = false;
  for (const SemaphoreAt& each : start.waits) {
    const auto [found, is_first] =
        awaited_on_.try_emplace({each.group, each.peer, each.index}, start.lane);
    changes_lanes = changes_lanes || found->second != start.lane;
  }
  if (changes_lanes) set_needed();
}

void CopyOrder::set_needed() {
  if (std::exchange(is_needed_, true)) return;
  for (const int earlier : starts_) {
    Step& step = writer_.at(earlier);
    step.after = std::exchange(step.after_for_speed, {});
  }
}

}  // namespace duet
