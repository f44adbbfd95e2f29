#include "training/operations/step_timeline.h"

#include <utility>

namespace duet {

std::unique_ptr<Event> StepTimeline::recorded(Stream& stream) {
  auto event = device_.make_event();
  stream.record(*event);
  return event;
}

void StepTimeline::begin(Stream& main) { begin_ = recorded(main); }

void StepTimeline::ended(Stream& main, std::string what) {
  main_.push_back({std::move(what), recorded(main)});
}

void StepTimeline::began_beside(Stream& beside, std::string what) {
  beside_.push_back({std::move(what), recorded(beside), nullptr});
}

void StepTimeline::ended_beside(Stream& beside) { beside_.back().end = recorded(beside); }

std::vector<StepTimeline::Part> StepTimeline::parts() const {
  std::vector<Part> parts;
  double last = 0;
  for (const Mark& each : main_) {
    const double end = each.event->seconds_since(*begin_);
    parts.push_back({each.what, false, last, end});
    last = end;
  }
  for (const MarksBeside& each : beside_) {
    parts.push_back(
        {each.what, true, each.begin->seconds_since(*begin_), each.end->seconds_since(*begin_)});
  }
  return parts;
}

}  // namespace duet
