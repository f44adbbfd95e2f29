#include "collectives/call_timeline.h"

#include <algorithm>

namespace duet {

std::unique_ptr<Event> CallTimeline::recorded(Stream& stream) {
  std::unique_ptr<Event> event = device_.make_event();
  stream.record(*event);
  return event;
}

void CallTimeline::begin(Stream& stream) {
  begin_ = recorded(stream);
  marks_.clear();
}

void CallTimeline::begins(Stream& stream, int lane, const std::string& what) {
  marks_.push_back({lane, what, recorded(stream), nullptr});
}

void CallTimeline::ends(Stream& stream) { marks_.back().end = recorded(stream); }

std::vector<CallTimeline::Step> CallTimeline::steps() const {
  std::vector<Step> steps;
  // Streams beside the caller's are not held, and pass a mark as soon as it is enqueued.
  const auto at = [this](const Event& event) {
    return std::max(0.0, event.seconds_since(*begin_));
  };
  for (const Marks& each : marks_) {
    steps.push_back({each.lane, each.what, at(*each.begin), at(*each.end)});
  }
  return steps;
}

}  // namespace duet
